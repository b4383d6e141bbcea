import HTTPLanes

@testable import NGHTTP2Transport

/// A server's bytes, against the session of the nghttp2 engine.
extension FuzzTarget {
    /// Type, flags and stream of a frame, and its payload.
    private static func frame(_ type: UInt8, _ flags: UInt8, _ stream: UInt8, _ payload: [UInt8] = []) -> [UInt8] {
        [0, UInt8(payload.count >> 8), UInt8(payload.count & 255), type, flags, 0, 0, 0, stream] + payload
    }

    private static let settings = frame(4, 0, 0, [0, 3, 0, 0, 0, 100])
    private static let status: [UInt8] = [0x88, 0x0f, 0x10, 1, 0x61]

    /// The first two bytes of an input are the size of a piece, and what the pool does between two pieces.
    private static let answers: [[UInt8]] = [
        frame(1, 4, 1, status) + frame(0, 1, 1, [0x7b, 0x7d]) + frame(1, 5, 3, status),
        frame(1, 4, 1, [0x48, 3, 0x31, 0x30, 0x33]) + frame(1, 0, 1, [0x88]) + frame(9, 4, 1, [0, 1, 0x61, 1, 0x62]),
        frame(3, 0, 1, [0, 0, 0, 7]) + frame(3, 0, 3, [0, 0, 0, 11]) + frame(6, 0, 0, [1, 2, 3, 4, 5, 6, 7, 8]),
        frame(7, 0, 0, [0, 0, 0, 1, 0, 0, 0, 0]) + frame(0, 0, 1, [1]) + frame(8, 0, 0, [0, 0, 1, 0]),
        frame(4, 0, 0, [0, 4, 0, 0, 0, 1]) + frame(8, 0, 1, [0, 0, 0, 2]) + frame(4, 0, 0, [0, 1, 0, 0, 0, 0]),
        frame(5, 4, 1, [0, 0, 0, 2, 0x88]) + frame(4, 1, 0) + frame(0xfa, 0, 5, [1, 2, 3]),
    ]

    static let http2Session = FuzzTarget(name: "http2", seeds: answers.map { [64, 0] + settings + $0 }) { bytes in
        guard let session = HTTP2Session(origin: "https://h", maximumBodyBytes: 200) else { return }
        let size = max(1, Int(bytes.first ?? 1))
        var decisions = UInt64(bytes.dropFirst().first ?? 0) &* 0x9e37_79b9_7f4a_7c15
        var live: Set<Int> = []
        var handedOver: Set<Int> = []

        func end(_ number: Int, _ end: RequestEnd) {
            check(live.remove(number) != nil, "request \(number) ended twice")
            if case .unsent = end.proof { check(!handedOver.contains(number), "request \(number) had left") }
            handedOver.remove(number)
        }
        func submit() {
            guard let number = (0..<6).first(where: { !live.contains($0) }) else { return }
            live.insert(number)
            let body = [UInt8](repeating: 1, count: number * 7)
            session.submit(HTTPRequest(tag: 1, url: "https://h/x", headers: ["A: b"], body: body), number: number)
        }
        func flush() {
            session.fill()
            for number in live where !session.isHeldBack(number) { handedOver.insert(number) }
            session.handOver()
            session.output.removeAll()
            while let (number, reported) = session.nextEnd() { end(number, reported) }
        }
        for _ in 0..<4 { submit() }
        flush()
        for start in stride(from: 2, to: bytes.count, by: size) {
            bytes[start..<min(start + size, bytes.count)].withUnsafeBytes { session.receive($0) }
            decisions = decisions &* 6_364_136_223_846_793_005 &+ 1
            switch decisions >> 61 {
            case 0: submit()
            case 1:
                // Ended requests are reported first, as the pool does.
                while let (number, reported) = session.nextEnd() { end(number, reported) }
                if let number = live.min() { end(number, session.cancel(number, reason: "late", as: .timedOut)) }
            case 2: session.ping()
            default: flush()
            }
            check(session.output.count < 1 << 20, "the output grows")
        }
        if session.end == nil { flush() }
        session.endAll(reason: "over")
        while let (number, reported) = session.nextEnd() { end(number, reported) }
        check(live.isEmpty, "requests without an end: \(live)")
    }
}
