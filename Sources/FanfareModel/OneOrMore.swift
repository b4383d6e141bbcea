/// One element, as a rule, or more: the one costs no memory of its own. For what every send has one of.
public struct OneOrMore<Element>: RandomAccessCollection {
    private let one: Element
    private let others: [Element]

    public init(_ one: Element) {
        self.one = one
        others = []
    }

    public init(_ one: Element, _ others: [Element]) {
        self.one = one
        self.others = others
    }

    /// Nil of none.
    public init?(all: [Element]) {
        guard let first = all.first else { return nil }
        one = first
        others = all.count > 1 ? Array(all.dropFirst()) : []
    }

    public var startIndex: Int { 0 }
    public var endIndex: Int { others.count + 1 }
    public subscript(index: Int) -> Element { index == 0 ? one : others[index - 1] }
}

extension OneOrMore: Equatable where Element: Equatable {}
extension OneOrMore: Sendable where Element: Sendable {}
