import Foundation
import RedisTransport
import StreamWire
import TestSupport

/// The library, with a counter around every command that a function runs: from the k-th on, each raises an error. Its
/// batches hold eight recipients, so that a fan-out is small.
enum FaultyLibrary {
    /// Defined before the library's own text. `api` still finds the server's table; all that follows finds ours.
    private static let head = """

        local function api() return redis end
        local register, fault_in = redis.register_function, -1
        local function is_broken()
          if fault_in < 0 then return false end
          if fault_in > 0 then fault_in = fault_in - 1 end
          return fault_in == 0
        end
        local redis = { register_function = register,
          error_reply = function(text) return api().error_reply(text) end,
          sha1hex = function(text) return api().sha1hex(text) end,
          acl_check_cmd = function(...) return api().acl_check_cmd(...) end,
          call = function(...)
            if is_broken() then error({ err = 'NOPERM no ' .. tostring((...)) .. ' here' }) end
            return api().call(...)
          end,
          pcall = function(...)
            if is_broken() then return { err = 'NOPERM not here' } end
            return api().pcall(...)
          end }
        register('VERSION_fault', function(keys, args)
          local was = fault_in
          fault_in = tonumber(args[1])
          return was
        end)

        """

    static func load(_ version: LibraryVersion = .current) throws -> RedisCommand {
        let source = try version.source()
        let head = head.replacingOccurrences(of: "VERSION", with: version.rawValue)
        let text = source.replacingOccurrences(of: "local BATCH = 1000", with: "local BATCH = 8")
        guard let line = text.firstIndex(of: "\n") else { throw TestFailure("the library has no first line") }
        var command = RedisCommand("FUNCTION", "LOAD", "REPLACE")
        command.append(Array((String(text[...line]) + head + String(text[line...])).utf8))
        return command
    }

    /// Every command from the k-th on raises an error; -1 for none. Returns what was left to count.
    static func arm(_ k: Int, _ bench: LibraryBench) async throws -> Int {
        let command = RedisCommand("FCALL", "\(bench.version.rawValue)_fault", "1", bench.keys.base, String(k))
        return Int(try await bench.call(command).integer ?? -1)
    }
}
