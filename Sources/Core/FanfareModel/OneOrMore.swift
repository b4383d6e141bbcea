/// One element, as a rule, or more: the one costs no memory of its own. For what every send has one of.
///
/// Inlined into whoever uses it: every answer is looked at through it several times.
@frozen public struct OneOrMore<Element>: RandomAccessCollection {
    @usableFromInline let one: Element
    @usableFromInline let others: [Element]

    @inlinable public init(_ one: Element) {
        self.one = one
        others = []
    }

    @inlinable public init(_ one: Element, _ others: [Element]) {
        self.one = one
        self.others = others
    }

    /// Nil of none.
    @inlinable public init?(all: [Element]) {
        guard let first = all.first else { return nil }
        one = first
        others = all.count > 1 ? Array(all.dropFirst()) : []
    }

    @inlinable public var startIndex: Int { 0 }
    @inlinable public var endIndex: Int { others.count + 1 }
    @inlinable public subscript(index: Int) -> Element { index == 0 ? one : others[index - 1] }
}

extension OneOrMore: Equatable where Element: Equatable {}
extension OneOrMore: Sendable where Element: Sendable {}
