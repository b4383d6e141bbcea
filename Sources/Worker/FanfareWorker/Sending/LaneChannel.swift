internal import CurlTransport
internal import EventLoop
internal import FCMWire
internal import FanfareModel
internal import HTTPLanes
internal import NGHTTP2Transport

/// Requests over HTTP/2 lanes to one origin.
final class LaneChannel: RequestChannel {
    struct Settings {
        var engine = HTTPEngine.curl
        /// Such as `https://fcm.googleapis.com`.
        var origin = ""
        /// Of requests without a path of their own.
        var sendPath = ""
        var timeoutMs: Int64 = 0
        /// Whether each complete result at the front of a cut answer counts.
        var usesCutBody = false
    }

    private let pool: LanePool
    private let credentials: any CredentialSource
    private let settings: Settings
    private let sendURL: String

    var onCompletion: (Int, RequestOutcome) -> Void = { _, _ in }
    var onRoom: () -> Void = {}

    /// - Parameter mayBegin: whether a request that waits for a connection may still begin.
    init(
        _ settings: Settings,
        _ connections: OriginConfiguration,
        _ credentials: any CredentialSource,
        loop: EventLoop,
        group: PoolGroup,
        mayBegin: @escaping () -> Bool
    ) {
        self.settings = settings
        self.credentials = credentials
        sendURL = Self.url(settings.origin, settings.sendPath)
        if settings.engine == .nghttp2 {
            var direct = connections
            // A configuration with this engine has no proxy. A worker that was started with one keeps it until a restart.
            direct.proxy = nil
            pool = LanePool(overNGHTTP2: direct, loop: loop, group: group)
        } else {
            pool = LanePool(overCurl: connections, loop: loop, group: group)
        }
        pool.mayBegin = mayBegin
        pool.onCompletion = { [weak self] tag, outcome in self?.onCompletion(Int(tag), outcome) }
        pool.onRoom = { [weak self] in self?.onRoom() }
    }

    var freeSlots: Int { pool.freeSlots }
    var openConnections: Int { pool.openLanes }

    func send(tag: Int, _ request: WireRequest) {
        var http = HTTPRequest(
            tag: UInt64(tag),
            method: request.method,
            url: request.path.isEmpty ? sendURL : Self.url(settings.origin, request.path),
            headers: credentials.headers.lines(request.headers),
            body: request.body,
            timeoutMs: settings.timeoutMs
        )
        if request.path.isEmpty {
            http.usesCutBody = settings.usesCutBody
        } else {
            http.maximumBodyBytes = request.method == .get ? AnswerLimit.ofList : AnswerLimit.ofManagement
        }
        pool.send(http)
    }

    /// An address of a fixed origin and validated segments, never of anything a job says.
    ///
    /// - Parameter path: with its query, escaped.
    private static func url(_ origin: String, _ path: String) -> String {
        (origin.hasSuffix("/") ? String(origin.dropLast()) : origin) + path
    }

    func close() { pool.close() }
}
