import Dispatch
import Foundation
import TestSupport

/// A reply of the dashboard.
struct WebAnswer {
    var status: Int
    /// Names in lower case; of equal names the last.
    var headers: [String: String]
    var body: String

    var json: [String: Any] {
        (try? JSONSerialization.jsonObject(with: Data(body.utf8))) as? [String: Any] ?? [:]
    }
}

/// Sends exactly the headers that a test sets, including `Host`.
struct WebClient: Sendable {
    let port: Int
    var host = "127.0.0.1:8490"
    var headers: [String: String] = [:]

    func get(_ path: String) async throws -> WebAnswer { try await ask("GET", path) }

    /// Sends the headers of the page, unless `headers` replaces them; an empty value omits a header.
    func post(_ path: String, _ body: String = "{}", headers more: [String: String] = [:]) async throws -> WebAnswer {
        let own = ["X-Fanfare-Request": "1", "Content-Type": "application/json", "Origin": "http://\(host)"]
        return try await ask("POST", path, body, own.merging(more) { $1 })
    }

    func ask(
        _ method: String,
        _ path: String,
        _ body: String? = nil,
        _ more: [String: String] = [:]
    ) async throws -> WebAnswer {
        let socket = try WebSocketBytes(port: port)
        socket.send(head(method, path, body, more.merging(["Connection": "close"]) { $1 }) + (body ?? ""))
        return try Self.answer(try await socket.rest())
    }

    /// Opens the stream of events: of the overview, or of one project.
    func events(of project: String? = nil) async throws -> EventReader {
        let socket = try WebSocketBytes(port: port)
        socket.send(head("GET", "/api/events" + (project.map { "?project=\($0)" } ?? ""), nil, [:]))
        return EventReader(socket)
    }

    private func head(_ method: String, _ path: String, _ body: String?, _ more: [String: String]) -> String {
        var head = "\(method) \(path) HTTP/1.1\r\n"
        if !host.isEmpty { head += "Host: \(host)\r\n" }
        for (name, value) in headers.merging(more, uniquingKeysWith: { $1 }) where !value.isEmpty {
            head += "\(name): \(value)\r\n"
        }
        if let body { head += "Content-Length: \(body.utf8.count)\r\n" }
        return head + "\r\n"
    }

    static func answer(_ text: String) throws -> WebAnswer {
        guard let end = text.range(of: "\r\n\r\n"), let line = text.split(separator: "\r\n").first,
            let status = line.split(separator: " ").dropFirst().first.flatMap({ Int($0) })
        else { throw TestFailure("no answer: \(text.prefix(200))") }
        var headers: [String: String] = [:]
        for line in text[..<end.lowerBound].components(separatedBy: "\r\n").dropFirst() {
            let sides = line.split(separator: ":", maxSplits: 1)
            if sides.count == 2 { headers[sides[0].lowercased()] = sides[1].trimmingCharacters(in: .whitespaces) }
        }
        return WebAnswer(status: status, headers: headers, body: String(text[end.upperBound...]))
    }
}

/// A connection that is read on its own thread, because the server under test uses the threads of tasks.
final class WebSocketBytes: Sendable {
    private let descriptor: Int32
    private let queue = DispatchQueue(label: "web-client")

    init(port: Int) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var patience = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = (UInt16(exactly: port) ?? 0).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isConnected else { throw TestFailure("no server listens on \(port)") }
    }

    deinit { close(descriptor) }

    func send(_ text: String) {
        let bytes = Array(text.utf8)
        _ = bytes.withUnsafeBytes { Foundation.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    }

    /// The server has neither answered nor closed the connection.
    var isOpen: Bool {
        var byte: UInt8 = 0
        return recv(descriptor, &byte, 1, Int32(MSG_DONTWAIT) | Int32(MSG_PEEK)) < 0 && errno == EAGAIN
    }

    /// nil at the end.
    func piece() async -> [UInt8]? {
        await withCheckedContinuation { continuation in
            queue.async { [descriptor] in
                var buffer = [UInt8](repeating: 0, count: 1 << 16)
                let count = recv(descriptor, &buffer, buffer.count, 0)
                continuation.resume(returning: count > 0 ? Array(buffer[..<count]) : nil)
            }
        }
    }

    func rest() async throws -> String {
        var bytes: [UInt8] = []
        while let piece = await piece() { bytes += piece }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// Reads server-sent events out of a chunked answer.
final class EventReader {
    private let socket: WebSocketBytes
    private var raw: [UInt8] = []
    private var text = ""
    private(set) var head: WebAnswer?

    init(_ socket: WebSocketBytes) { self.socket = socket }

    /// The next event with one of these names.
    func next(_ names: String...) async throws -> (name: String, data: [String: Any]) {
        while true {
            while let end = text.range(of: "\n\n") {
                let lines = text[..<end.lowerBound].split(separator: "\n")
                text = String(text[end.upperBound...])
                guard let name = lines.first(where: { $0.hasPrefix("event: ") })?.dropFirst(7),
                    names.contains(String(name))
                else { continue }
                let data = lines.first { $0.hasPrefix("data: ") }?.dropFirst(6) ?? ""
                let object = try JSONSerialization.jsonObject(with: Data(data.utf8))
                return (String(name), object as? [String: Any] ?? [:])
            }
            guard let piece = await socket.piece() else { throw TestFailure("the stream ended") }
            raw += piece
            try unwrap()
        }
    }

    private func unwrap() throws {
        if head == nil {
            guard let end = raw.firstRange(of: Array("\r\n\r\n".utf8)) else { return }
            head = try WebClient.answer(String(decoding: raw[..<end.upperBound], as: UTF8.self))
            raw.removeFirst(end.upperBound)
        }
        while let line = raw.firstRange(of: Array("\r\n".utf8)) {
            let size = String(decoding: raw[..<line.lowerBound], as: UTF8.self)
            guard let length = Int(size, radix: 16) else { throw TestFailure("not a chunk: \(size)") }
            guard raw.count >= line.upperBound + length + 2 else { return }
            text += String(decoding: raw[line.upperBound..<line.upperBound + length], as: UTF8.self)
            raw.removeFirst(line.upperBound + length + 2)
        }
    }
}
