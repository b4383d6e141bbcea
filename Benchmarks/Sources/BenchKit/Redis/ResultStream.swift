internal import Foundation

/// The results of a project, read as a consumer would. A fast worker that forgets is not fast.
struct ResultStream {
    enum Status: String { case sent, failed }

    /// One entry of the stream.
    struct Entry {
        let id: String
        /// When Redis wrote it, in its own milliseconds.
        let writtenMs: Int
        let job: String
        /// A JSON array.
        let results: String
    }

    /// An end of the stream.
    struct Mark {
        /// The last entry's id; `-` when there is none.
        let last: String
        fileprivate let length: Int
    }

    let redis: PrivateRedis
    let project: String

    var key: String { "fanfare:{\(project)}:results" }

    /// Results with this status, counted one by one.
    func count(_ status: Status) throws -> Int {
        var count = 0
        try read { count += Self.occurrences(of: "\"status\":\"\(status.rawValue)\"", in: $0.results) }
        return count
    }

    /// Where the stream ends now.
    func mark() throws -> Mark {
        var last = "-"
        if case .array(let entries) = try redis.client.send("XREVRANGE", key, "+", "-", "COUNT", "1"),
            case .array(let pair) = entries.first, case .text(let id) = pair.first
        {
            last = id
        }
        return Mark(last: last, length: try length())
    }

    /// Waits until so many entries have come. Only counts them: reading would take from what is measured.
    func wait(
        for count: Int,
        since mark: Mark,
        seconds: Double,
        every pause: Double = 0.02,
        whileRunning check: () throws -> Void
    ) throws {
        try Patience.wait(for: "\(count) results", seconds: seconds, every: pause) { () -> Void? in
            try check()
            return try length() >= mark.length + count ? () : nil
        }
    }

    /// All entries since the mark, or from the beginning, oldest first.
    func read(since mark: Mark? = nil, _ take: (Entry) throws -> Void) throws {
        var last = mark?.last ?? "-"
        while true {
            let from = last == "-" ? last : "(\(last)"
            guard case .array(let entries) = try redis.client.send("XRANGE", key, from, "+", "COUNT", "100"),
                !entries.isEmpty
            else { return }
            for entry in try Self.entries(entries) {
                last = entry.id
                try take(entry)
            }
        }
    }

    /// Empties the stream, as consumers do that have read it.
    func trim() throws { try redis.client.send("XTRIM", key, "MAXLEN", "0") }

    /// The entries of a reply to `XRANGE`, or of one stream of a reply to `XREAD`.
    static func entries(_ values: [RESPClient.Value]) throws -> [Entry] {
        try values.map { value in
            guard case .array(let pair) = value, pair.count == 2, case .text(let id) = pair[0],
                case .array(let fields) = pair[1]
            else { throw BenchError.failed("the results stream holds what is no entry") }
            return try entry(id, fields)
        }
    }

    private func length() throws -> Int {
        guard case .integer(let length) = try redis.client.send("XLEN", key) else {
            throw BenchError.failed("\(key) has no length")
        }
        return length
    }

    private static func entry(_ id: String, _ fields: [RESPClient.Value]) throws -> Entry {
        var texts: [String: String] = [:]
        for index in stride(from: 0, to: fields.count - 1, by: 2) {
            if case .text(let name) = fields[index], case .text(let value) = fields[index + 1] { texts[name] = value }
        }
        guard let job = texts["job"], let results = texts["results"], let writtenMs = StreamID.milliseconds(id) else {
            throw BenchError.failed("entry \(id) of the results stream lacks a field")
        }
        return Entry(id: id, writtenMs: writtenMs, job: job, results: results)
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
