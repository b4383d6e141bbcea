import Dispatch
import FanfareHTTP
import NIOConcurrencyHelpers

@testable import FanfareGateway

/// Opens once, and stays open.
final class Gate: Sendable {
    private let state = NIOLockedValueBox((isOpen: false, waiting: [CheckedContinuation<Void, Never>]()))

    func open() {
        let waiting = state.withLockedValue { state in
            defer { state = (true, []) }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    func pass() async {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLockedValue { state in
                if !state.isOpen { state.waiting.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }
}

/// What the responder saw, in order.
final class Seen<Value: Sendable>: Sendable {
    private let box = NIOLockedValueBox<[Value]>([])
    var all: [Value] { box.withLockedValue { $0 } }
    func add(_ value: Value) { box.withLockedValue { $0.append(value) } }
}

/// Answers requests by their paths, and records what happens.
struct TestAnswers: Sendable {
    static let key = "Bearer key"

    /// Opens for `/wait` and `/upload/later`.
    let gate = Gate()
    /// Signalled for `/crossing`, whose answer is written then.
    let crossing = DispatchSemaphore(value: 0)
    /// The requests in the order in which their answers were made.
    let requests = Seen<WebRequest>()
    /// The keys that were tested before a body was read.
    let keys = Seen<String?>()
    /// How the answers ended.
    let ends = Seen<Bool>()
    /// How streamed bodies ended: their bytes, and the fault.
    let bodies = Seen<(bytes: Int, fault: BodyFault?)>()
    /// Pieces of streamed answers that were made.
    let pieces = Seen<Int>()
    /// The paths of requests whose clients left before the answer.
    let leaves = Seen<String>()

    var responder: Responder {
        Responder(
            maximumBodyBytes: { _ in 100_000 },
            reads: { authorization, path in
                keys.add(authorization)
                return authorization == Self.key || !needsKey(path)
            },
            needsKey: needsKey,
            respond: { begin($0, $1) },
            maximumStreamedBytes: { $0.path.hasPrefix("/upload") ? 50_000_000 : nil },
            stream: { await stream($0, $1) }
        )
    }

    @Sendable private func needsKey(_ path: String) -> Bool { !path.hasPrefix("/stranger") }

    private func begin(
        _ request: WebRequest,
        _ answer: @escaping @Sendable (WebReply) -> Void
    ) -> @Sendable () -> Void {
        var record = request
        // The record holds no memory of the server.
        record.held = nil
        switch request.path {
        case "/crossing":
            answer(reply(to: record))
            requests.add(record)
            // The loop reads nothing meanwhile.
            crossing.wait()
        case "/forgotten":
            Task { [record] in
                await gate.pass()
                answer(reply(to: record))
            }
            requests.add(record)
        default:
            let task = Task { [record] in
                answer(await respond(record))
                withExtendedLifetime(request) {}
            }
            return { task.cancel() }
        }
        return {}
    }

    private func respond(_ request: WebRequest) async -> WebReply {
        requests.add(request)
        if request.path.hasSuffix("/wait") {
            await withTaskCancellationHandler {
                await gate.pass()
            } onCancel: {
                leaves.add(request.path)
            }
        }
        return reply(to: request)
    }

    private func reply(to request: WebRequest) -> WebReply {
        var reply = WebReply.text(
            "\(request.method) \(request.path) \(request.body.count)",
            status: request.isMemoryFull ? 503 : request.isBodyTooLarge ? 413 : request.bodyFault == nil ? 200 : 400
        )
        reply.onEnd = { ends.add($0) }
        if request.path == "/large" { reply.bytes = [UInt8](repeating: 65, count: 30_000_000) }
        guard request.path == "/pieces" || request.path == "/broken" else { return reply }
        reply.body = { write in
            for piece in 0..<1_000 {
                pieces.add(piece)
                try await write([UInt8](repeating: 65, count: 50_000))
                if request.path == "/broken" { throw BodyFault.left }
            }
        }
        return reply
    }

    private func stream(_ head: WebRequest, _ body: RequestBody) async -> WebReply {
        requests.add(head)
        var (bytes, fault): (Int, BodyFault?) = (0, nil)
        if head.path == "/upload/refused" { return WebReply.text("no", status: 403) }
        if head.path == "/upload/later" { await gate.pass() }
        do throws(BodyFault) {
            while let piece = try await body.next() { bytes += piece.count }
        } catch { fault = error }
        bodies.add((bytes, fault))
        return WebReply.text("\(bytes)", status: fault == nil ? 200 : 400)
    }
}
