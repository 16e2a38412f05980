"""The arm `best` as docs/best-arm.md reads: whole vectors changed, one node at a time."""

from __future__ import annotations

import numpy as np


def scores(
    vectors,
    words,
    asked,
    *,
    is_pr,
    exists,
    links,
    title_weight,
    words_weight,
    discount,
):
    """The score of every PR that exists, as a dictionary.

    ``asked`` holds the question's vectors: its title's, then that of title and body if it has one;
    ``words`` the bm25 score of every node.
    """
    nodes = [i for i in range(len(vectors)) if exists[i]]
    prs, issues = [i for i in nodes if is_pr[i]], [i for i in nodes if not is_pr[i]]
    exact = np.asarray(vectors, dtype=np.float64)
    middle = exact[prs].mean(axis=0) if prs else np.zeros(exact.shape[1])
    way = (exact[issues].mean(axis=0) if issues else np.zeros(exact.shape[1])) - middle
    if np.linalg.norm(way) > 0:
        way = way / np.linalg.norm(way)

    def plain(vector):
        vector = np.asarray(vector, dtype=np.float64) - middle
        vector = vector - (vector @ way) * way
        length = np.linalg.norm(vector)
        return vector / length if length > 0.01 else np.zeros_like(vector)

    def standard(values):
        values = np.asarray(values)
        return (values - values.mean()) / values.std() if values.std() > 0 else 0 * values

    evidence = {}
    for kind in (prs, issues):
        if not kind:
            continue
        near = [standard([plain(question) @ plain(exact[i]) for i in kind]) for question in asked]
        meaning = near[0] if len(near) == 1 else title_weight * near[0] + near[1]
        both = standard(meaning + words_weight * standard([words[i] for i in kind]))
        evidence.update(zip(kind, both, strict=True))

    result = {pr: evidence[pr] for pr in prs}
    for a, b in links:
        for pr, other in ((a, b), (b, a)):
            if pr in result and other in evidence and other != pr:
                result[pr] = max(result[pr], evidence[other] - discount)
    return result
