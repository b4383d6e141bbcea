internal import FanfareModel

/// The trace context of an HTTP request, which its job carries on.
public struct TraceHeaders: Sendable {
    public let parent: String
    public let state: String?

    /// Nil without `traceparent`, and for one that breaks a rule: W3C asks to ignore it. A wrong `tracestate` is dropped.
    ///
    /// - Parameter headers: by name in lower case.
    public init?(_ headers: [String: String]) {
        guard let parent = headers["traceparent"],
            (try? TraceContextRules.checkParent(Array(parent.utf8))) != nil
        else { return nil }
        self.parent = parent
        state = headers["tracestate"].flatMap {
            (try? TraceContextRules.checkState(Array($0.utf8))) != nil ? $0 : nil
        }
    }
}

/// W3C Trace Context, level 1: what `traceparent` and `tracestate` may look like.
enum TraceContextRules {
    static let stateLength = 8_192
    static let stateMembers = 32

    /// `version-traceid-parentid-flags`, all lower-case hexadecimal; a later version may carry more after a dash.
    static func checkParent(_ bytes: [UInt8]) throws(EntryFault) {
        let path = EntryField.traceparent.rawValue
        try require((55...256).contains(bytes.count), path, "\(bytes.count) characters, must be 55")
        let dashes = [2, 35, 52]
        for (offset, byte) in bytes.prefix(55).enumerated() {
            if dashes.contains(offset) {
                try require(byte == UInt8(ascii: "-"), path, "byte \(offset) must be a dash")
            } else if !isLowerHexadecimal(byte) {
                throw EntryFault(path, "byte \(offset) is not one of 0-9 a-f")
            }
        }
        try require(!bytes.starts(with: Array("ff".utf8)), path, "version ff is invalid")
        if bytes.starts(with: Array("00".utf8)) {
            try require(bytes.count == 55, path, "\(bytes.count) characters, must be 55")
        } else if bytes.count > 55 {
            try require(bytes[55] == UInt8(ascii: "-"), path, "byte 55 must be a dash")
            try require(bytes[55...].allSatisfy({ 0x21...0x7E ~= $0 }), path, "not printable ASCII")
        }
        try require(bytes[3..<35].contains(where: isNotZero), path, "the trace id is all zeros")
        try require(bytes[36..<52].contains(where: isNotZero), path, "the parent id is all zeros")
    }

    /// `key=value` members between commas, at most 32, no key twice; empty members are allowed.
    static func checkState(_ bytes: [UInt8]) throws(EntryFault) {
        let path = EntryField.tracestate.rawValue
        try require(bytes.count <= stateLength, path, "\(bytes.count) bytes, at most \(stateLength)")
        var keys = Set<[UInt8]>()
        for (index, member) in bytes.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false).enumerated()
        {
            try require(index < stateMembers, path, "more than \(stateMembers) members")
            let text = member.trimmingBlanks
            if text.isEmpty { continue }
            guard let equals = text.firstIndex(of: UInt8(ascii: "=")), isStateKey(text[..<equals]),
                isStateValue(text[(equals + 1)...])
            else { throw EntryFault(path, "member \(index) is not key=value") }
            try require(keys.insert(Array(text[..<equals])).inserted, path, "member \(index) repeats a key")
        }
    }

    /// `key` or `tenant@system`.
    private static func isStateKey(_ key: ArraySlice<UInt8>) -> Bool {
        let parts = key.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
        guard let first = parts.first, !first.isEmpty, first.allSatisfy(isStateKeyByte) else { return false }
        switch parts.count {
        case 1: return first.count <= 256 && isLowerLetter(first[first.startIndex])
        case 2:
            guard let start = parts[1].first, isLowerLetter(start), parts[1].count <= 14 else { return false }
            let lead = first[first.startIndex]
            return first.count <= 241 && (isLowerLetter(lead) || lead.isASCIIDigit)
                && parts[1].allSatisfy(isStateKeyByte)
        default: return false
        }
    }

    private static func isStateValue(_ value: ArraySlice<UInt8>) -> Bool {
        !value.isEmpty && value.count <= 256
            && value.allSatisfy { 0x20...0x7E ~= $0 && $0 != UInt8(ascii: ",") && $0 != UInt8(ascii: "=") }
    }

    private static func isStateKeyByte(_ byte: UInt8) -> Bool {
        isLowerLetter(byte) || byte.isASCIIDigit || Array("_-*/".utf8).contains(byte)
    }

    private static func isLowerHexadecimal(_ byte: UInt8) -> Bool {
        byte.isASCIIDigit || UInt8(ascii: "a")...UInt8(ascii: "f") ~= byte
    }

    private static func isLowerLetter(_ byte: UInt8) -> Bool { UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte }
    private static func isNotZero(_ byte: UInt8) -> Bool { byte != UInt8(ascii: "0") }
}
