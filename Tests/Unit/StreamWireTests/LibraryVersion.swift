import Foundation
import RedisTransport
import StreamWire
import TestSupport

/// A version of the function library. Two of them run side by side while a fleet is upgraded.
enum LibraryVersion: String, CaseIterable, Sendable {
    /// The text of the last release with this version, a fixture.
    case one = "fanfare_v1"
    /// The text of this tree.
    case two = "fanfare_v2"

    var other: LibraryVersion { self == .one ? .two : .one }

    func source() throws -> String {
        switch self {
        case .one: try String(contentsOfFile: Repository.fixture("library/fanfare_v1.lua"), encoding: .utf8)
        case .two: String(decoding: FunctionLibrary.source, as: UTF8.self)
        }
    }

    /// The same call of this version. `FunctionLibrary` spells calls of version 2.
    func command(_ command: RedisCommand) -> RedisCommand {
        guard self == .one, let function = Self.function(of: command) else { return command }
        var older = RedisCommand("FCALL", "fanfare_v1_" + function)
        for index in 2..<command.count { older.append(command.word(index)) }
        return older
    }

    /// The function that a call names, without its prefix; nil for any other command.
    private static func function(of command: RedisCommand) -> String? {
        guard command.count > 3, command.word(0).elementsEqual("FCALL".utf8) else { return nil }
        let name = String(decoding: command.word(1), as: UTF8.self)
        return name.hasPrefix(two.rawValue) ? String(name.dropFirst(two.rawValue.count + 1)) : nil
    }
}
