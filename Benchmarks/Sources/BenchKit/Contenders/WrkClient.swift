internal import Foundation

/// Requests with the bytes of firebase-admin for Python, sent by wrk at an even rate over HTTP/1.1 and TLS.
///
/// The bytes are those of `send_each_for_multicast` of firebase-admin 7.7.0 over requests 2.34.2; each request has its own
/// token. It is not firebase-admin: that library takes a hundred times the client's CPU, and opens some 60 connections for
/// a call of 500 messages. Here all connections are open before the first request, and stay open.
struct WrkClient {
    struct Outcome: Equatable {
        var sends: Int
        /// From the first request to the last.
        var seconds: Double
        /// Of the time from a request to its answer: p50, p99 and p99.9.
        var milliseconds: [Double]
        /// Connects, reads, writes, statuses and timeouts that failed.
        var errors: Int
    }

    let origin: String
    let key: String
    let workspace: Workspace

    /// More than wait for answers at once, and fewer than the library's 500 threads.
    private static let connections = 200

    /// Sends for so many seconds. An error, or an answer other than 200, ends the run.
    ///
    /// - Parameter first: the number of the first token.
    /// - Returns: what wrk measured, and its CPU in nanoseconds.
    func run(rate: Int, seconds: Int, first: Int) throws -> (outcome: Outcome, cpuNs: Int) {
        let script = try workspace.write(Self.script, to: "wrk.lua")
        let head = try workspace.write(Self.head(origin: origin, key: key), to: "wrk-head.txt")
        let body = try workspace.write(Payload.sdkBody(token: "TOKEN"), to: "wrk-body.txt")
        let child = try Child(
            "wrk",
            try Tool.wrk.found(),
            // A second in which connections open, and one for the last answers.
            ["-t", "1", "-c", "\(Self.connections)", "-d", "\(seconds + 2)s", "--timeout", "60s", "-s", script, origin]
                + ["--", head, body, Payload.token(0), "\(rate)", "\(seconds)", "\(first)"],
            in: workspace
        )
        let ended = try child.finish(seconds: Double(seconds) + 60)
        guard let outcome = Self.outcome(workspace.read(child.outputFile)), outcome.errors == 0 else {
            throw BenchError.failed("wrk: \(workspace.tail(child.outputFile))")
        }
        return (outcome, ended.cpuNs)
    }

    /// The request line and the headers, but for the length of the body.
    static func head(origin: String, key: String) -> String {
        [
            "POST /v1/projects/\(Sink.project)/messages:send HTTP/1.1",
            "Host: \(origin.replacing("https://", with: ""))", "User-Agent: python-requests/2.34.2",
            "Accept-Encoding: gzip, deflate", "Accept: */*", "Connection: keep-alive", "X-GOOG-API-FORMAT-VERSION: 2",
            "X-FIREBASE-CLIENT: fire-admin-python/7.7.0",
            "x-goog-api-client: gl-python/3.11.2 fire-admin/7.7.0 cred-type/u", "authorization: Bearer \(key)",
        ].map { "\($0)\r\n" }.joined()
    }

    /// Of the line that the script prints at the end; nil without one.
    static func outcome(_ output: String) -> Outcome? {
        guard let line = output.split(separator: "\n").first(where: { $0.hasPrefix("outcome ") }) else { return nil }
        let numbers = line.split(separator: " ").dropFirst().compactMap { Double($0) }
        guard numbers.count == 6 else { return nil }
        return Outcome(
            sends: Int(numbers[0]),
            seconds: numbers[1],
            milliseconds: Array(numbers[2...4]),
            errors: Int(numbers[5])
        )
    }

    /// Each free connection takes the next moment of an even schedule. A schedule that is late by more than 50 ms begins anew:
    /// the rate falls, and the times stay those of requests that were sent.
    private static let script = #"""
        local ffi = require("ffi")
        ffi.cdef[[typedef struct { long s; long ns; } moment; int clock_gettime(int, moment *);]]
        local clock = ffi.new("moment")
        local function now()
          ffi.C.clock_gettime(1, clock)
          return tonumber(clock.s) + tonumber(clock.ns) / 1e9
        end
        local function read(path)
          local file = assert(io.open(path))
          local text = file:read("*a")
          file:close()
          return text
        end
        local head, tail, tokenEnd, rate, seconds, number, start, nextMoment
        first, last = 0, 0
        function init(arguments)
          local body, token = read(arguments[2]), arguments[3]
          rate, seconds, number = tonumber(arguments[4]), tonumber(arguments[5]), tonumber(arguments[6])
          local before, after = string.match(body, "^(.*)TOKEN(.*)$")
          head = read(arguments[1]) .. "Content-Length: " .. #body - #"TOKEN" + #token
            .. "\r\nContent-Type: application/json\r\n\r\n" .. before
          tail = string.sub(token, 12) .. after
        end
        function delay()
          local time = now()
          if not start then start = time + 1; nextMoment = start end
          if nextMoment >= start + seconds then return 3600000 end
          local wait = nextMoment - time
          if wait < -0.05 then nextMoment = time end
          nextMoment = nextMoment + 1 / rate
          return math.max(0, math.floor(wait * 1000 + 0.5))
        end
        function request()
          if start then
            last = now()
            if first == 0 then first = last end
          end
          number = number + 1
          return head .. string.format("%011d", number) .. tail
        end
        local threads = {}
        function setup(thread) threads[#threads + 1] = thread end
        function done(summary, latency)
          local thread, errors = threads[1], summary.errors
          local times = {}
          for index, percentile in ipairs({50, 99, 99.9}) do times[index] = latency:percentile(percentile) / 1000 end
          print(string.format("outcome %d %.6f %.3f %.3f %.3f %d", summary.requests,
            thread:get("last") - thread:get("first"), times[1], times[2], times[3],
            errors.connect + errors.read + errors.write + errors.status + errors.timeout))
        end
        """#
}
