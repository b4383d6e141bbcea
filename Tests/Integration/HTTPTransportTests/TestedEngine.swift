import CurlTransport
import EventLoop
import HTTPLanes
import NGHTTP2Transport
import Testing

/// The HTTP libraries under the pool. Tests of the pool's behaviour take one as an argument.
enum TestedEngine: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case curl, nghttp2

    /// The engines that the tests run over.
    static let tested = allCases

    private static let preparedCurl: Void = CurlEnvironment.prepare()

    var testDescription: String { rawValue }

    /// Whether libcurl 7 makes the requests: later versions treat some endings of connections differently.
    var isCurl7: Bool { self == .curl && CurlEnvironment.version.hasPrefix("libcurl/7.") }

    func makePool(_ configuration: OriginConfiguration, loop: EventLoop, group: PoolGroup) -> LanePool {
        switch self {
        case .curl:
            Self.preparedCurl
            return LanePool(overCurl: configuration, loop: loop, group: group)
        case .nghttp2:
            return LanePool(overNGHTTP2: configuration, loop: loop, group: group)
        }
    }
}
