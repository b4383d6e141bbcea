public import FanfareConfiguration
internal import FanfareHTTP
public import FanfareModel
internal import Glibc
internal import HummingbirdCore
public import Logging
internal import NIOCore
internal import SocketTransport

/// Serves `/metrics`, `/healthz` and `/readyz` of a process over HTTP/1.1.
public struct AdminServer: Sendable {
    private let address: ListenAddress
    private let responder: AdminResponder
    private let logger: Logger

    /// Idle connections above this limit are closed.
    private static let maximumConnections = 64

    /// - Parameters:
    ///   - token: required by `/metrics`, and by the probes for details. Required if other machines can reach the
    ///     address.
    public init(address: ListenAddress, token: BearerToken?, probes: AdminProbes, logger: Logger) {
        precondition(
            address.isLocal || token != nil,
            "an address beyond this machine needs a token, as the configuration checks"
        )
        self.address = address
        var isTCP = false
        if case .tcp = address { isTCP = true }
        responder = AdminResponder(
            probes: probes,
            bearer: BearerCheck(token.map { [$0] } ?? []),
            checksHost: isTCP && token == nil
        )
        self.logger = logger
    }

    /// Serves until the process ends. Do not cancel its task: NIO traps if a connection was accepted and not yet
    /// processed.
    ///
    /// - Parameter onListening: called once, with the bound address.
    /// - Throws: a `ListenError` if it cannot listen.
    public func run(onListening: @escaping @Sendable (ListenAddress) -> Void) async throws {
        let responder = responder
        // Suppress the server's own log records.
        var quiet = logger
        quiet.logLevel = .critical
        let server = HTTPServer(
            address: try bindAddress(),
            configuration: .limited(connections: Self.maximumConnections, idleSeconds: 30),
            logger: quiet,
            onListening: { [address] port in onListening(Self.listening(address, port)) },
            respond: { responder.answer($0) }
        )
        do {
            try await server.run()
        } catch {
            throw ListenError(error, address: address.description) ?? error
        }
    }

    private func bindAddress() throws -> BindAddress {
        switch address {
        case .tcp(let host, let port): return .hostname(host, port: port)
        case .unix(let path):
            // The server would remove the socket of a process that still serves it.
            guard SocketTransport.SocketAddress.unix(path)?.isServed != true else {
                let taken = IOError(errnoCode: EADDRINUSE, reason: "bind")
                throw ListenError(taken, address: address.description) ?? taken
            }
            return .unixDomainSocket(path: path)
        }
    }

    private static func listening(_ address: ListenAddress, _ bound: Int) -> ListenAddress {
        switch address {
        case .tcp(let host, let port): return .tcp(host: host, port: bound > 0 ? bound : port)
        case .unix(let path):
            // Owner and group may connect.
            _ = chmod(path, 0o660)
            return address
        }
    }
}
