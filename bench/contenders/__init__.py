"""fastrecall and its peers, each behind the same few methods.

Every library is imported where it is used, in the process of its contender.
"""
