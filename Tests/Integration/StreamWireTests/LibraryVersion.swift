import Foundation
import RedisTransport
import StreamWire
import TestSupport

/// A version of the function library. Two of them run side by side while a fleet is upgraded.
enum LibraryVersion: String, CaseIterable, Sendable {
    /// The text of the last release with this version, a fixture.
    case one = "fanfare_v1"
    /// The text of this tree.
    case current = "fanfare_v3"

    var other: LibraryVersion { self == .one ? .current : .one }

    func source() throws -> String {
        switch self {
        case .one: try String(contentsOfFile: Repository.fixture("library/fanfare_v1.lua"), encoding: .utf8)
        case .current: String(decoding: FunctionLibrary.source, as: UTF8.self)
        }
    }

    /// The same call of this version. `FunctionLibrary` spells calls of the current version.
    func command(_ command: RedisCommand) -> RedisCommand {
        guard self == .one, let function = Self.function(of: command) else { return command }
        let names = ["declare_dead": "bury", "deregister": "leave", "remove_idle_consumers": "tidy"]
        var older = RedisCommand("FCALL", "fanfare_v1_" + (names[function] ?? function))
        for index in 2..<command.count {
            switch (function, String(decoding: command.word(index), as: UTF8.self)) {
            case ("claim", "retry_after"): older.append("told")
            case ("claim", "multicast"): older.append("unit")
            default: older.append(command.word(index))
            }
        }
        return older
    }

    /// This version's reply as the current one gives it.
    func reply(_ value: RedisValue, to command: RedisCommand) -> RedisValue {
        guard self == .one, let function = Self.function(of: command) else { return value }
        guard ["intakes", "records"].contains(function) else { return Self.named(value, of: function) }
        return .array((value.array ?? []).map { Self.named($0, of: String(function.dropLast())) })
    }

    /// A list of version 1 with the names that its places have in the current one.
    private static func named(_ value: RedisValue, of function: String) -> RedisValue {
        guard let parts = value.array, let first = parts.first else { return value }
        switch (function, first.string) {
        case ("claim", "ok"):
            let names = [
                "now", "hold_ms", "probe_ms", "block", "next_due", "copying", "unfinished", "permits", "pause",
                "pressure", "news_cursor", "refused_cursor", "news", "clock_offset",
            ]
            return outcome(first, names + ["claims"], parts[1...14] + [.array(parts[15...].map(claim))])
        case ("intake", "taken"): return outcome(first, ["epoch", "permits"], parts[1...])
        case ("intake", "reject"): return outcome(first, ["reason"], parts[1...])
        case ("intake", "queued") where parts.count > 1: return outcome(first, ["source", "size"], parts[1...])
        case ("record", "ok"): return parts[1].string == "" ? first : outcome(first, ["abort"], parts[1...])
        case ("copy", "more"): return outcome(first, ["copied"], parts[1...])
        case ("copy", "whole"): return text("complete")
        case ("reconcile", _): return outcome(text("ok"), ["freed", "lost"], [first, .array(Array(parts[1...]))])
        case ("register", _): return outcome(text("ok"), ["news_cursor"], parts[1...])
        case ("claim", _), ("intake", _), ("record", _), ("copy", _): return first
        default: return value
        }
    }

    private static func claim(_ value: RedisValue) -> RedisValue {
        guard let parts = value.array, parts.count == 13 else { return value }
        let names = ["job", "batch", "epoch", "pass", "from", "watermark", "deliveries", "abort"]
        var pairs = zip(names, parts).flatMap { [text($0), $1] }
        let (unsent, ending, how) = (parts[8].string ?? "", parts[11], parts[12].string)
        if !unsent.isEmpty {
            pairs += [text("unsent"), text(unsent == "-" ? "" : unsent), text("maybe_sent"), parts[9]]
        }
        pairs += [text("recipients"), parts[10]]
        if ending.string != "" { pairs += [text("ending"), ending] }
        if how == "1" { pairs += [text("quarantined"), text("1")] }
        if how == "2" { pairs += [text("probe"), text("1")] }
        return .array(pairs)
    }

    private static func outcome(_ word: RedisValue, _ names: [String], _ values: ArraySlice<RedisValue>) -> RedisValue {
        .array([text("outcome"), word] + zip(names, values).flatMap { [text($0), $1] })
    }

    private static func text(_ text: String) -> RedisValue { .bulk(Array(text.utf8)) }

    /// The function that a call names, without its prefix; nil for any other command.
    private static func function(of command: RedisCommand) -> String? {
        guard command.count > 3, command.word(0).elementsEqual("FCALL".utf8) else { return nil }
        let name = String(decoding: command.word(1), as: UTF8.self)
        return name.hasPrefix(current.rawValue) ? String(name.dropFirst(current.rawValue.count + 1)) : nil
    }
}
