internal import FanfareHTTP
internal import NIOConcurrencyHelpers
internal import NIOCore
internal import ZlibKit

/// Why a body has no next piece.
enum BodyFault: Error, Equatable {
    /// The body is longer than its path allows, after inflating.
    case tooLarge
    /// The body is no whole gzip.
    case coding(String)
    /// The client left, or stopped sending.
    case left
}

/// The body of a request, piece by piece. The client is read from as pieces are asked for, and gzip is inflated.
actor RequestBody {
    private static let pieceBytes = 65_536

    private let pipe: BodyPipe
    private let maximumBytes: Int
    private let inflater: GzipInflater?
    private var count = 0

    init(_ pipe: BodyPipe, isGzip: Bool, maximumBytes: Int) {
        (self.pipe, self.maximumBytes) = (pipe, maximumBytes)
        inflater = isGzip ? GzipInflater() : nil
    }

    /// - Returns: nil at the end.
    func next() async throws(BodyFault) -> [UInt8]? {
        while true {
            if let bytes = try inflated(), !bytes.isEmpty { return try counted(bytes) }
            guard let piece = try await pipe.next() else {
                if let inflater, !inflater.isWhole { throw .coding(GzipError.truncated.description) }
                return nil
            }
            guard let inflater else { return try counted(piece) }
            inflater.feed(piece)
        }
    }

    private func inflated() throws(BodyFault) -> [UInt8]? {
        do throws(GzipError) { return try inflater?.read(Self.pieceBytes) } catch {
            throw .coding(error.description)
        }
    }

    private func counted(_ bytes: [UInt8]) throws(BodyFault) -> [UInt8] {
        count += bytes.count
        guard count <= maximumBytes else { throw .tooLarge }
        return bytes
    }
}

/// A body on its way from its connection to the task that reads it.
final class BodyPipe: Sendable {
    /// nil at the end.
    private typealias Piece = Result<[UInt8]?, BodyFault>

    private struct State {
        var bytes: [UInt8] = []
        /// nil as long as more may come.
        var end: Piece?
        var reader: CheckedContinuation<Piece, Never>?
    }

    /// Bytes that wait, after which no more are read from the client.
    static let fullBytes = 65_536

    private let state = NIOLockedValueBox(State())
    private let onWanted: @Sendable () -> Void

    /// - Parameter onWanted: called, on any thread, when bytes are wanted and when there is room again.
    init(onWanted: @escaping @Sendable () -> Void) { self.onWanted = onWanted }

    /// Bytes that wait for their reader.
    var count: Int { state.withLockedValue { $0.bytes.count } }
    /// Whether the reader waits.
    var isWanted: Bool { state.withLockedValue { $0.reader != nil } }

    func push(_ bytes: ByteBuffer) {
        let reader = state.withLockedValue { state in
            if state.end == nil, state.reader == nil { state.bytes.append(contentsOf: bytes.readableBytesView) }
            return state.reader.take()
        }
        reader?.resume(returning: .success(Array(bytes.readableBytesView)))
    }

    /// - Parameter fault: nil for the body's own end.
    func finish(_ fault: BodyFault? = nil) {
        let end: Piece = if let fault { .failure(fault) } else { .success(nil) }
        let reader = state.withLockedValue { state in
            if state.end == nil { state.end = end }
            if fault != nil { state.bytes = [] }
            return state.reader.take()
        }
        reader?.resume(returning: end)
    }

    /// For one reader.
    /// - Returns: nil at the end.
    func next() async throws(BodyFault) -> [UInt8]? {
        let result = await withCheckedContinuation { (continuation: CheckedContinuation<Piece, Never>) in
            let known: Piece? = state.withLockedValue { state in
                if !state.bytes.isEmpty {
                    defer { state.bytes = [] }
                    return .success(state.bytes)
                }
                if let end = state.end { return end }
                state.reader = continuation
                return nil
            }
            if let known { continuation.resume(returning: known) }
            onWanted()
        }
        return try result.get()
    }
}

extension WebRequest {
    /// Whether the body is gzip, which the gateway inflates.
    var isGzip: Bool {
        guard let coding = headers["content-encoding"]?.lowercased() else { return false }
        return coding == "gzip" || coding == "x-gzip"
    }

    /// The request without the name of the coding that is undone.
    var withoutGzip: WebRequest {
        guard isGzip else { return self }
        var request = self
        request.headers["content-encoding"] = nil
        return request
    }

    /// The request with a body that is not gzip.
    ///
    /// - Parameter share: counts the inflated body, too.
    func inflated(maximumBytes: Int, _ share: BodyShare) -> WebRequest {
        guard isGzip else { return self }
        var request = withoutGzip
        guard !body.isEmpty else { return request }
        request.body = []
        let inflater = GzipInflater()
        inflater.feed(body)
        do throws(GzipError) {
            while true {
                let bytes = try inflater.read(min(maximumBytes, 65_536))
                if bytes.isEmpty { break }
                request.isBodyTooLarge = request.body.count + bytes.count > maximumBytes
                request.isMemoryFull = !request.isBodyTooLarge && !share.add(bytes.count)
                guard !request.isBodyTooLarge, !request.isMemoryFull else {
                    request.body = []
                    return request
                }
                request.body += bytes
            }
            if !inflater.isWhole { throw .truncated }
        } catch {
            request.body = []
            request.bodyFault = error.description
        }
        return request
    }
}
