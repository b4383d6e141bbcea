import NIOCore
import NIOHPACK
import TestSupport

/// A client of HTTP/2 that sends the frames it likes over a plain connection. Its calls block.
final class FramePeer {
    struct Frame: Equatable {
        var type: UInt8
        var flags: UInt8 = 0
        var stream: UInt32 = 0
        var payload: [UInt8] = []

        /// The error code of a RST_STREAM or a GOAWAY.
        var code: UInt32 { payload.dropFirst(type == 7 ? 4 : 0).prefix(4).reduce(0) { $0 << 8 | UInt32($1) } }
    }

    static let (data, headers, reset, settings, ping, goAway, window):
        (UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8) = (0, 1, 3, 4, 6, 7, 8)
    static let (endStream, endHeaders): (UInt8, UInt8) = (1, 4)

    private let peer: RawPeer
    private var encoder = HPACKEncoder(allocator: ByteBufferAllocator())
    /// The server's SETTINGS by their numbers.
    private(set) var serverSettings: [UInt16: UInt32] = [:]

    /// - Parameter settings: of the client, by their numbers.
    init(port: Int, settings: [UInt16: UInt32] = [:]) throws {
        peer = try RawPeer(port: port)
        try peer.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        let payload = settings.flatMap { name, value in
            withUnsafeBytes(of: name.bigEndian, Array.init) + withUnsafeBytes(of: value.bigEndian, Array.init)
        }
        try send(Frame(type: Self.settings, payload: payload))
    }

    /// Reads the server's SETTINGS and acknowledges them.
    func acknowledge() throws {
        let frame = try next { $0.type == Self.settings && $0.flags == 0 }
        for start in stride(from: 0, to: frame.payload.count, by: 6) {
            let setting = frame.payload[start..<start + 6]
            let name = setting.prefix(2).reduce(0) { $0 << 8 | UInt16($1) }
            serverSettings[name] = setting.suffix(4).reduce(0) { $0 << 8 | UInt32($1) }
        }
        try send(Frame(type: Self.settings, flags: 1))
    }

    func send(_ frames: Frame...) throws { try send(frames) }

    func send(_ frames: [Frame]) throws { try peer.send(Self.bytes(of: frames)) }

    func sendByteByByte(_ frames: [Frame]) throws {
        for byte in Self.bytes(of: frames) { try peer.send([byte]) }
    }

    private static func bytes(of frames: [Frame]) -> [UInt8] {
        frames.flatMap { frame in
            Array(withUnsafeBytes(of: UInt32(frame.payload.count).bigEndian, Array.init).dropFirst())
                + [frame.type, frame.flags] + withUnsafeBytes(of: frame.stream.bigEndian, Array.init)
                + frame.payload
        }
    }

    /// The HEADERS of a request.
    func request(
        _ stream: UInt32,
        _ path: String = "/",
        method: String = "POST",
        ends: Bool = true,
        more: [(String, String)] = []
    ) throws -> Frame {
        let headers = [
            (":method", method), (":scheme", "https"), (":path", path), (":authority", "x"),
            ("authorization", TestAnswers.key),
        ]
        return try self.headers(stream, headers + more, ends: ends)
    }

    func headers(_ stream: UInt32, _ headers: [(String, String)], ends: Bool = true) throws -> Frame {
        var block = ByteBuffer()
        try encoder.encode(headers: HPACKHeaders(headers), to: &block)
        let flags = Self.endHeaders | (ends ? Self.endStream : 0)
        return Frame(type: Self.headers, flags: flags, stream: stream, payload: Array(block.readableBytesView))
    }

    /// The next frame.
    func next() throws -> Frame {
        let head = try peer.read(9)
        let length = head[..<3].reduce(0) { $0 << 8 | Int($1) }
        let stream = head[5...].reduce(0) { $0 << 8 | UInt32($1) }
        return Frame(type: head[3], flags: head[4], stream: stream, payload: try peer.read(length))
    }

    /// The next frame of which something is true.
    func next(_ isWanted: (Frame) -> Bool) throws -> Frame {
        while true {
            let frame = try next()
            if isWanted(frame) { return frame }
        }
    }

    /// The frames until the server closes.
    func readToEnd() throws -> [Frame] {
        var frames: [Frame] = []
        while let frame = try? next() { frames.append(frame) }
        if peer.wasSilent { throw TestFailure("the server does not close") }
        return frames
    }

    func end() { peer.end() }

    /// Waits until the server has read everything.
    func roundTrip() throws {
        try send(Frame(type: Self.ping, payload: [UInt8](repeating: 1, count: 8)))
        _ = try next { $0.type == Self.ping }
    }

    /// Reads until each of the streams has ended, with its body or a reset.
    func ends(of streams: some Sequence<UInt32>) throws -> [UInt32: Frame] {
        var (open, ends) = (Set(streams), [UInt32: Frame]())
        while !open.isEmpty {
            let frame = try next()
            if frame.type == Self.goAway { throw TestFailure("GOAWAY \(frame.code)") }
            guard frame.type == Self.reset || (frame.type < 2 && frame.flags & Self.endStream != 0) else { continue }
            if open.remove(frame.stream) != nil { ends[frame.stream] = frame }
        }
        return ends
    }
}
