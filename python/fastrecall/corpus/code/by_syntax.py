"""Cut source code by its syntax tree: functions and types are units, with the way to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from fastrecall.corpus.code.languages import Language, parser_of
from fastrecall.corpus.code.spans import ChunkSizes, Lines, Span, pack, split_by_lines

if TYPE_CHECKING:
    from tree_sitter import Node

_DEEPEST = 60
"""Levels of nesting that are followed; deeper (a long else-if chain) the lines are cut."""


def cut_by_syntax(text: str, lines: Lines, language: Language, sizes: ChunkSizes) -> list[Span]:
    """Spans that partition all lines of *text*, in order."""
    root = parser_of(language.name).parse(text.encode()).root_node
    cutter = _Cutter(lines, language, sizes)
    return list(cutter.block(root.named_children, 0, len(lines) - 1, "", depth=0))


class _Cutter:
    def __init__(self, lines: Lines, language: Language, sizes: ChunkSizes) -> None:
        self.lines = lines
        self.language = language
        self.sizes = sizes

    def block(
        self, children: Sequence[Node], first: int, last: int, context: str, depth: int
    ) -> Iterator[Span]:
        """The items of a file or of a container's body, as spans that cover *first* to *last*."""
        groups = self._partition(children, first, last)
        opening = groups[0][0] - 1 if groups else last
        symbols = (context,) if context else ()
        if groups and self.lines.size(first, opening) < self.sizes.tiny:
            # "impl Store {" alone answers nothing: it goes with the first member.
            groups[0] = (first, *groups[0][1:])
        elif opening >= first:
            yield from self._whole_or_split(None, Span(first, opening, context, symbols), depth)
        for start, end, nodes in groups:
            if len(nodes) == 1:
                yield from self._item(nodes[0], start, end, context, depth)
            else:  # a lone comment, or items on one line that lines cannot tell apart
                names = tuple(path for node in nodes if (path := self._path(context, node)))
                span = Span(start, end, context, names or symbols)
                yield from self._whole_or_split(None, span, depth)

    def _item(self, node: Node, start: int, end: int, context: str, depth: int) -> Iterator[Span]:
        core = self._unwrapped(node)
        language = self.language
        path = self._path(context, core)
        members = _members(core, language) if depth < _DEEPEST else None
        if members is None or (path and self.lines.size(start, end) <= self.sizes.small):
            is_unit = core.type in language.units or core.type in language.containers
            symbols = (path,) if path else (context,) if context else ()
            span = Span(start, end, context, symbols, mergeable=not is_unit)
            yield from self._whole_or_split(core, span, depth)
        else:
            yield from self.block(members, start, end, path or context, depth + 1)

    def _whole_or_split(self, node: Node | None, span: Span, depth: int) -> Iterator[Span]:
        if self.lines.size(span.start, span.end) <= self.sizes.largest:
            yield span
        else:
            yield from pack(self._statements(node, span, depth), self.lines, self.sizes)

    def _statements(self, node: Node | None, span: Span, depth: int) -> list[Span]:
        """Atoms of a unit that is too large: its statements, theirs where one is too large, …"""
        if self.lines.size(span.start, span.end) <= self.sizes.target:
            return [span]
        inner = _statements_of(node) if node is not None and depth < _DEEPEST else []
        groups = self._partition(inner, span.start, span.end)
        if not groups:
            return split_by_lines(span, self.lines, self.sizes)
        atoms = []
        if groups[0][0] > span.start:
            atoms.append(span._replace(end=groups[0][0] - 1))
        for start, end, nodes in groups:
            only = nodes[0] if len(nodes) == 1 else None
            atoms += self._statements(only, span._replace(start=start, end=end), depth + 1)
        return atoms

    def _partition(
        self, children: Sequence[Node], first: int, last: int
    ) -> list[tuple[int, int, list[Node]]]:
        """Line ranges of items, each with the comments above it; nodes that share a line together.

        The ranges run from the first item's line to *last* without a gap.
        """
        groups: list[tuple[int, list[Node], int]] = []  # first line, nodes, last line of the nodes
        above: tuple[int, int] | None = None  # lines of comments that wait for their item
        for child in children:
            start, end = child.start_point.row, _last_row(child)
            if start < first or start > last:
                continue
            if groups and start <= groups[-1][2]:
                nodes, previous_end = groups[-1][1], groups[-1][2]
                if child.type not in self.language.attached:
                    nodes.append(child)
                groups[-1] = (groups[-1][0], nodes, max(previous_end, end))
                continue
            if above is not None and start > above[1] + 1:  # a blank line: the comment stands alone
                groups.append((above[0], [], above[1]))
                above = None
            if child.type in self.language.attached:
                above = (above[0] if above else start, end)
            else:
                groups.append((above[0] if above else start, [child], end))
                above = None
        if above is not None:
            groups.append((above[0], [], above[1]))
        if not groups:
            return []
        ends = [start - 1 for start, _, _ in groups[1:]] + [last]
        return [(start, end, nodes) for (start, nodes, _), end in zip(groups, ends, strict=True)]

    def _unwrapped(self, node: Node) -> Node:
        while node.type in self.language.wrappers:
            known = self.language.units.keys() | self.language.containers.keys()
            inner = [
                child
                for child in node.named_children
                if child.type in known or child.type in self.language.wrappers
            ]
            if not inner:
                break
            node = inner[-1]
        return node

    def _path(self, context: str, node: Node) -> str:
        """The item with the way to it, ``impl Store > fn open``; "" when it has no name."""
        node = self._unwrapped(node)
        word = self.language.units.get(node.type, self.language.containers.get(node.type))
        if not word:
            return ""
        name = _name_of(node)
        symbol = f"{word} {name}" if name else word
        return f"{context} > {symbol}" if context else symbol


def _members(node: Node, language: Language) -> list[Node] | None:
    """The items inside a container, or ``None`` when *node* is not one (or has no body)."""
    if node.type == "ERROR":
        return node.named_children
    word = language.containers.get(node.type)
    if word is None:
        return None
    body = node if word == "" else node.child_by_field_name("body")
    return body.named_children if body is not None else None


def _last_row(node: Node) -> int:
    """The last row that the node writes on: a line comment ends at column 0 of the next row."""
    row, column = node.end_point
    return row - 1 if column == 0 and row > node.start_point.row else row


def _statements_of(node: Node) -> list[Node]:
    """The nodes to cut a large node between: its body's, or its largest child's."""
    body = node.child_by_field_name("body")
    if body is None:
        children = node.named_children
        if len(children) != 1 and not any(_covers_most(child, node) for child in children):
            return children
        body = max(children, key=lambda child: child.end_byte - child.start_byte)
    return body.named_children


def _covers_most(child: Node, node: Node) -> bool:
    return 2 * (child.end_byte - child.start_byte) > node.end_byte - node.start_byte


def _name_of(node: Node) -> str | None:
    """The name of an item, or of the first thing that it declares."""
    field = node.child_by_field_name
    name = field("name")
    if name is not None:
        receiver = field("receiver")  # Go: the type that the method belongs to
        owner = _first_of(receiver, "type_identifier") if receiver is not None else None
        return f"{_text(owner)}.{_text(name)}" if owner is not None else _text(name)
    declarator = field("declarator")
    if declarator is not None:  # C and C++: pointers, arrays and parameters wrap the name
        while (inner := _inside(declarator)) is not None:
            declarator = inner
        return _text(declarator)
    kind, trait = field("type"), field("trait")
    if node.type == "impl_item" and kind is not None:
        return f"{_text(trait)} for {_text(kind)}" if trait is not None else _text(kind)
    for child in node.named_children:  # const f = …, type ( … )
        if child.child_by_field_name("name") is not None:
            return _name_of(child)
    return None


def _inside(declarator: Node) -> Node | None:
    """The declarator that another one wraps; a C++ reference names no field for it."""
    if declarator.type == "reference_declarator":
        return declarator.named_children[-1] if declarator.named_children else None
    return declarator.child_by_field_name("declarator")


def _first_of(node: Node, kind: str) -> Node | None:
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if node.type == kind:
            return node
        waiting.extend(reversed(node.named_children))
    return None


def _text(node: Node) -> str:
    return " ".join((node.text or b"").decode(errors="replace").split())
