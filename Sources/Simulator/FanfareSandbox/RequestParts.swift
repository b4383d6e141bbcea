import FCMSimulator
import NIOCore

/// A request while it arrives.
struct RequestParts {
    /// More than any legal request needs. A longer body is refused with 413.
    static let maximumBytes = 4 << 20

    private(set) var request: SimulatorRequest
    /// The error answer in place of the simulator's; nil for a well-formed request.
    private(set) var errorReply: SimulatorReply?
    /// Consumed bytes of this stream that were not yet returned to the peer's window.
    var unreturnedBytes = 0

    /// - Parameter target: the path with its query.
    init(method: String, target: String) {
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        request = SimulatorRequest(
            method: method,
            path: String(parts.first ?? ""),
            query: parts.count > 1 ? String(parts[1]) : ""
        )
    }

    /// - Parameter name: in lower case.
    mutating func add(header name: String, _ value: String) {
        switch name {
        case "authorization": request.authorization = value
        case "content-type": request.contentType = value
        case "access_token_auth": request.accessTokenAuth = value.lowercased() == "true"
        case "project_id": request.projectIDHeader = value
        default: break
        }
    }

    mutating func append(_ bytes: ByteBuffer) {
        guard request.body.count + bytes.readableBytes <= Self.maximumBytes else {
            refuse(413, "A request's body may have \(Self.maximumBytes) bytes.")
            return
        }
        request.body.append(contentsOf: bytes.readableBytesView)
    }

    /// Refuses the request, unless it is refused already.
    mutating func refuse(_ status: Int, _ sentence: String) {
        guard errorReply == nil else { return }
        errorReply = SimulatorReply(
            status: status,
            headers: [.init("content-type", "text/plain")],
            body: Array((sentence + "\n").utf8)
        )
    }

    func reply(from host: SimulatorHost) -> SimulatorReply {
        // The metadata server is on the control port only.
        if errorReply == nil, Simulator.isMetadata(request) { return SimulatorReply(status: 404) }
        return errorReply ?? host.respond(to: request)
    }
}
