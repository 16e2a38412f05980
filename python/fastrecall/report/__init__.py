"""Reports: records in, text and pages out; nothing is computed here."""
