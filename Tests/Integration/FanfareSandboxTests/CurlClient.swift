import Foundation
import Testing

/// What the command `curl` made of an answer: a client that shares no code with the server.
struct CurlReply {
    /// curl's own exit code: 0 when it is content, 92 for a reset stream, 52 for an empty reply.
    var exitCode: Int32
    var status: Int
    var httpVersion: String
    var headers: [String: String]
    var body: String
}

struct CurlClient {
    var authority: String

    func ask(
        _ url: String,
        body: String? = nil,
        headers: [String] = [],
        options: [String] = []
    ) async throws -> CurlReply {
        var arguments = ["-s", "-i", "--max-time", "20", "--cacert", authority] + options
        for header in headers { arguments += ["-H", header] }
        if body != nil { arguments += ["--data-binary", "@-"] }
        arguments += ["-w", "\n%{http_code} %{http_version}", url]
        let result = try await Command.run("/usr/bin/env", ["curl"] + arguments, input: body ?? "")
        return try reply(result.output, exitCode: result.exitCode)
    }

    private func reply(_ text: String, exitCode: Int32) throws -> CurlReply {
        let trailer = try #require(text.split(separator: "\n").last?.split(separator: " "))
        let withoutTrailer = String(text[..<(text.range(of: "\n", options: .backwards)?.lowerBound ?? text.startIndex)])
        var rest = withoutTrailer
        // An interim answer (100) comes with headers of its own.
        var head = ""
        repeat {
            let end = rest.range(of: "\r\n\r\n")
            head = String(rest[..<(end?.lowerBound ?? rest.endIndex)])
            rest = end.map { String(rest[$0.upperBound...]) } ?? ""
        } while head.contains(" 100")
        var headers: [String: String] = [:]
        for line in head.components(separatedBy: "\r\n").dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            if parts.count == 2 { headers[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces) }
        }
        return CurlReply(
            exitCode: exitCode,
            status: try #require(Int(trailer[0])),
            httpVersion: String(trailer[1]),
            headers: headers,
            body: rest
        )
    }
}
