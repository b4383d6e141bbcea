import FanfareConfiguration
import FanfareModel
import Logging
import RedisTransport
import TestSupport
import Testing

@testable import FCMWire
@testable import FanfareWorker

/// A worker on its own threads, with a Redis address where nothing listens.
@Suite struct WorkerTests {
    private static func worker(_ project: WorkerConfiguration.Project) -> Worker {
        let configuration = WorkerConfiguration(
            settings: Configuration(),
            redis: .sample,
            projects: [project],
            name: "w"
        )
        return Worker(configuration: configuration, logger: HeardLog().logger)
    }

    @Test func workerThatWasToldToDrainEndsDrained() async throws {
        let worker = Self.worker(.legacy("p"))
        #expect(!worker.status.current.isDraining)
        worker.drain()
        #expect(try await worker.run() == .drained)
        #expect(worker.status.current.isDraining && !worker.status.current.isReady)
    }

    @Test func workerThatCannotStartEndsWithTheReason() async throws {
        let file = """
            {"type":"service_account","private_key":"-----BEGIN PRIVATE KEY-----\\nno key\\n",
            "project_id":"p","client_email":"c","token_uri":"https://localhost:1/token"}
            """
        let credential = try Credential.parse(Array(file.utf8))
        let worker = Self.worker(.init(settings: .init(id: "p"), credential: credential))
        await #expect(throws: (any Error).self) { try await worker.run() }
    }
}
