internal import HTTPTypes
public import HummingbirdCore
public import Logging
public import NIOCore
internal import NIOHTTP1
internal import NIOPosix
public import ServiceLifecycle

/// An HTTP/1.1 server that passes every request to one function.
///
/// It dates every answer. If the function throws, the answer is 500.
public struct HTTPServer: Service {
    /// Returns the answer to a request on a connection.
    public typealias Responder = @Sendable (Request, any Channel) async throws -> Response

    private let address: BindAddress
    private let configuration: HTTP1Channel.Configuration
    private let logger: Logger
    private let onListening: @Sendable (any Channel) -> Void
    private let respond: Responder
    private let dates = HTTPDateText()

    /// - Parameter onListening: called once, with the channel that accepts connections.
    public init(
        address: BindAddress,
        configuration: HTTP1Channel.Configuration,
        logger: Logger,
        onListening: @escaping @Sendable (any Channel) -> Void,
        respond: @escaping Responder
    ) {
        self.address = address
        self.configuration = configuration
        self.logger = logger
        self.onListening = onListening
        self.respond = respond
    }

    /// Serves until the task is cancelled or its service group shuts down.
    public func run() async throws {
        let server = Server(
            childChannelSetup: HTTP1Channel(responder: answer, configuration: configuration),
            configuration: ServerConfiguration(address: address),
            onServerRunning: { [onListening] in onListening($0) },
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
            logger: logger
        )
        try await server.run()
    }

    @Sendable private func answer(
        _ request: Request,
        _ writer: consuming ResponseWriter,
        _ channel: any Channel
    ) async throws {
        var response: Response
        do {
            response = try await respond(request, channel)
        } catch let error as HTTPParserError {
            // The channel answers 400.
            throw error
        } catch {
            logger.debug("a request failed", metadata: ["error": "\(error)"])
            response = Response(status: .internalServerError)
        }
        response.headers[.date] = dates.now()
        do {
            try await writer.write(response: response.head, body: response.body)
        } catch is HTTPParserError {
            // The channel would write a second answer after the part of this one.
            throw ChannelError.outputClosed
        }
    }
}
