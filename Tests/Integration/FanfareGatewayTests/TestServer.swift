import FanfareHTTP
import Foundation
import HummingbirdCore
import Logging
import NIOCore
import NIOPosix
import OpenSSLKit
import ServiceLifecycle
import TestSupport

@testable import FanfareGateway

/// The server of the gateway with answers of the tests.
@dynamicMemberLookup struct TestServer: Sendable {
    let port: Int
    let answers: TestAnswers
    fileprivate let stopped: @Sendable () async -> Void

    subscript<Value>(dynamicMember member: KeyPath<TestAnswers, Value>) -> Value { answers[keyPath: member] }

    /// Stops in order, as SIGTERM does.
    func stop() { Task { await stopped() } }

    static func run(
        times: HTTPTimes = HTTPTimes(),
        maximumConnections: Int = 1_000,
        maximumHeldBytes: Int = HeldBodies.usualLimit,
        tls: TLSServerContext? = nil,
        _ body: @escaping @Sendable (TestServer) throws -> Void
    ) async throws {
        let answers = TestAnswers()
        let connections = HTTPConnections(
            responder: answers.responder,
            maximumConnections: maximumConnections,
            times: times,
            maximumHeldBytes: maximumHeldBytes
        )
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let (bound, announce) = AsyncStream<Int>.makeStream()
        let service = Self.service(connections, tls, logger) { announce.yield($0) }
        var group = ServiceGroupConfiguration(services: [.init(service: service)], logger: logger)
        group.maximumGracefulShutdownDuration = .seconds(60)
        let services = ServiceGroup(configuration: group)
        let running = Task { try await services.run() }
        var ports = bound.makeAsyncIterator()
        guard let port = await ports.next() else { throw TestFailure("the server does not listen") }
        let server = TestServer(
            port: port,
            answers: answers,
            stopped: { await services.triggerGracefulShutdown() }
        )
        defer { answers.gate.open() }
        do {
            // The clients' calls block, and the server needs the other threads.
            try await withCheckedThrowingContinuation { continuation in
                Thread.detachNewThread { continuation.resume(with: Result { try body(server) }) }
            }
        } catch {
            answers.gate.open()
            running.cancel()
            throw error
        }
        answers.gate.open()
        await services.triggerGracefulShutdown()
        try await running.value
    }

    private static func service(
        _ connections: HTTPConnections,
        _ tls: TLSServerContext?,
        _ logger: Logger,
        onPort: @escaping @Sendable (Int) -> Void
    ) -> any Service {
        let configuration = ServerConfiguration(address: .hostname("127.0.0.1", port: 0), backlog: 1_024)
        let loops = MultiThreadedEventLoopGroup.singleton
        guard let tls else {
            return Server(
                childChannelSetup: PlainChannel(connections: connections),
                configuration: configuration,
                onServerRunning: { onPort($0.localAddress?.port ?? 0) },
                eventLoopGroup: loops,
                logger: logger
            )
        }
        return Server(
            childChannelSetup: TLSChannel(tls: tls) { try connections.addAfterTLS(to: $0) },
            configuration: configuration,
            onServerRunning: { onPort($0.localAddress?.port ?? 0) },
            eventLoopGroup: loops,
            logger: logger
        )
    }

    /// Waits for what the server does after its answer.
    static func wait(_ what: String, _ isTrue: () throws -> Bool) throws {
        let end = Date(timeIntervalSinceNow: 60)
        while try !isTrue() {
            if Date() > end { throw TestFailure("waited in vain for \(what)") }
            usleep(2_000)
        }
    }
}
