internal import FanfareJSON
public import FanfareModel
internal import FanfareTemplate

/// Reads the field `recipients` of a personal job in one pass, without a tree of values: an entry may hold a million.
public struct RecipientListReader: Sendable {
    /// Arrays and objects that may be open at once: an element may have as many as in an audience, inside the array.
    private static let maximumDepth = 65
    private static let path = "recipients"

    private let traits: TransportTraits

    public init(_ traits: TransportTraits) { self.traits = traits }

    /// - Returns: each recipient as compact JSON on one line. A fault that fails only its recipient is still in it. They
    ///   are parts of `bytes`, except for elements with white space or needless escapes, which are copied.
    /// - Throws: for a text that is no array of recipients. The path names the first bad element, such as
    ///   `recipients[17].token`.
    public func read(_ bytes: [UInt8]) throws(EntryFault) -> RecipientList {
        var scanner = JSONScanner(bytes: bytes, maximumDepth: Self.maximumDepth)
        scanner.skipSpace()
        guard scanner.nextKindName == "an array" else { throw notAnArray(scanner) }
        var list = RecipientList(within: bytes)
        var line: [UInt8] = []
        try json { () throws(JSONError) in try scanner.enter() }
        while try findElement(&scanner, isFirst: list.isEmpty) {
            let start = scanner.next
            scanner.isCompact = true
            let element = try element(list.count, from: &scanner)
            try check(element, at: list.count)
            if scanner.isCompact {
                list.append(start..<scanner.next)
                continue
            }
            line.removeAll(keepingCapacity: true)
            element.appendCompact(to: &line)
            // A copy of an entry of many megabytes would cost more than this comparison.
            if bytes[start..<scanner.next].elementsEqual(line) {
                list.append(start..<scanner.next)
            } else {
                list.append(String(decoding: line, as: UTF8.self))
            }
        }
        try json { () throws(JSONError) in try scanner.finish() }
        guard !list.isEmpty else { throw EntryFault(Self.path, "empty, at least 1") }
        return list
    }

    private func element(_ index: Int, from scanner: inout JSONScanner) throws(EntryFault) -> RecipientElement {
        do throws(TemplateFault) { return try RecipientElement(from: &scanner) } catch {
            throw EntryFault(Self.path(of: index, Excerpt.plain(error.path)), error.rule)
        }
    }

    private func check(_ element: RecipientElement, at index: Int) throws(EntryFault) {
        let reason = traits.fault(of: element.kind)
        guard reason != nil || !RecipientRules.isToken(element.recipient) else { return }
        let path = Self.path(of: index, element.kind.rawValue)
        if let reason { throw EntryFault(path, reason) }
        try RecipientRules.checkToken(element.recipient.bytes, at: path)
    }

    private static func path(of index: Int, _ member: String) -> String {
        member.isEmpty ? "\(path)[\(index)]" : "\(path)[\(index)].\(member)"
    }

    private func findElement(_ scanner: inout JSONScanner, isFirst: Bool) throws(EntryFault) -> Bool {
        var isFound = false
        try json { () throws(JSONError) in isFound = try scanner.findElement(isFirst: isFirst) }
        return isFound
    }

    private func notAnArray(_ scanner: JSONScanner) -> EntryFault {
        var ahead = scanner
        do throws(EntryFault) {
            try json { () throws(JSONError) in try ahead.skipValue() }
            return EntryFault(Self.path, "must be an array, not \(scanner.nextKindName ?? "")")
        } catch { return error }
    }

    private func json(_ step: () throws(JSONError) -> Void) throws(EntryFault) {
        do throws(JSONError) { try step() } catch {
            throw EntryFault(Self.path, "not JSON at byte \(error.offset): \(error.reason)", offset: error.offset)
        }
    }
}
