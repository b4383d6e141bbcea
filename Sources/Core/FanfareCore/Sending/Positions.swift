/// Positions in a batch, at least one. A single one, as in every v1 request, allocates nothing.
public struct Positions: RandomAccessCollection, Equatable, Sendable {
    private let head: Int
    private let tail: [Int]

    public init(_ head: Int, _ tail: [Int] = []) {
        self.head = head
        self.tail = tail
    }

    public var startIndex: Int { 0 }
    public var endIndex: Int { tail.count + 1 }
    public subscript(index: Int) -> Int { index == 0 ? head : tail[index - 1] }
}
