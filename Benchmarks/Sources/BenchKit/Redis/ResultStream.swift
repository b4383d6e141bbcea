internal import Foundation

/// The results of a project, read as a consumer would. A fast worker that forgets is not fast.
struct ResultStream {
    enum Status: String { case sent, failed }

    /// One entry of the stream.
    struct Entry {
        /// When Redis wrote it, in its own milliseconds.
        let writtenMs: Int
        let job: String
        /// A JSON array.
        let results: String
    }

    let redis: PrivateRedis
    let project: String

    private var key: String { "fanfare:{\(project)}:results" }

    /// Results with this status, counted one by one.
    func count(_ status: Status) throws -> Int {
        var count = 0
        try read { count += Self.occurrences(of: "\"status\":\"\(status.rawValue)\"", in: $0.results) }
        return count
    }

    /// All entries after `id`, oldest first.
    /// - Returns: the id of the last one.
    @discardableResult
    func read(after id: String = "-", _ take: (Entry) throws -> Void) throws -> String {
        var last = id
        while true {
            let from = last == "-" ? last : "(\(last)"
            guard case .array(let entries) = try redis.client.send("XRANGE", key, from, "+", "COUNT", "100"),
                !entries.isEmpty
            else { return last }
            for case .array(let pair) in entries {
                guard pair.count == 2, case .text(let id) = pair[0], case .array(let fields) = pair[1] else {
                    throw BenchError.failed("the results stream holds what is no entry")
                }
                last = id
                try take(Self.entry(id, fields))
            }
        }
    }

    private static func entry(_ id: String, _ fields: [RESPClient.Value]) throws -> Entry {
        var texts: [String: String] = [:]
        for index in stride(from: 0, to: fields.count - 1, by: 2) {
            if case .text(let name) = fields[index], case .text(let value) = fields[index + 1] { texts[name] = value }
        }
        guard let job = texts["job"], let results = texts["results"], let writtenMs = StreamID.milliseconds(id) else {
            throw BenchError.failed("entry \(id) of the results stream lacks a field")
        }
        return Entry(writtenMs: writtenMs, job: job, results: results)
    }

    static func occurrences(of needle: String, in text: String) -> Int {
        var text = text
        let needle = Array(needle.utf8)
        guard let first = needle.first else { return 0 }
        return text.withUTF8 { bytes in
            var count = 0
            var rest = UnsafeRawBufferPointer(bytes)
            while rest.count >= needle.count, let base = rest.baseAddress,
                let found = memchr(base, Int32(first), rest.count - needle.count + 1)
            {
                let matches = memcmp(found, needle, needle.count) == 0
                if matches { count += 1 }
                let next = UnsafeRawPointer(found) - base + (matches ? needle.count : 1)
                rest = UnsafeRawBufferPointer(rebasing: rest[next...])
            }
            return count
        }
    }
}

enum StreamID {
    /// The clock of the server that made the id.
    static func milliseconds(_ id: String) -> Int? { id.split(separator: "-").first.flatMap { Int($0) } }
}
