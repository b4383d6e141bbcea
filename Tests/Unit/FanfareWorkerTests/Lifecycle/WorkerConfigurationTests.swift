import FanfareModel
import RedisTransport
import Testing

@testable import FanfareConfiguration
@testable import FanfareWorker

/// What a worker takes from the settings and from the files that they name.
@Suite struct WorkerConfigurationTests {
    @Test func projectsGetTheContentsOfTheirFiles() {
        var settings = Configuration()
        settings.projects = [.init(id: "p"), .init(id: "q")]
        var secrets = Secrets()
        (secrets.serverKeys, secrets.deleted) = (["p": "key"], ["q": "the file was deleted"])
        secrets.proxy = HTTPProxy(address: "http://proxy:3128")
        let configuration = WorkerConfiguration(settings, secrets: secrets, redis: .sample)
        #expect(configuration.projects.map(\.id) == ["p", "q"])
        #expect(configuration.projects.map(\.serverKey) == ["key", nil])
        #expect(configuration.projects.map(\.lostCredential) == [nil, "the file was deleted"])
        #expect(configuration.proxy == secrets.proxy)
    }

    @Test func eachProcessHasANameOfItsOwnUnlessItIsSet() {
        var settings = Configuration()
        let names = (0..<2).map { _ in WorkerConfiguration(settings, secrets: Secrets(), redis: .sample).name }
        #expect(names[0] != names[1] && !names[0].isEmpty)
        settings.worker.name = "w1"
        #expect(WorkerConfiguration(settings, secrets: Secrets(), redis: .sample).name == "w1")
    }

    /// With the `safe` profile every confirmed result is on a replica already.
    @Test(arguments: [
        ("redis-sentinel://localhost:1", false, true), ("redis-sentinel://localhost:1", true, false),
        ("redis://localhost:1", false, false),
    ])
    func resultsAwaitReplicasBehindSentinels(_ url: String, _ isSafe: Bool, _ awaits: Bool) throws {
        var settings = Configuration()
        if isSafe { settings.redis.durability = .safe }
        let deployment = try RedisDeployment(url: url)
        #expect(WorkerConfiguration(settings, secrets: Secrets(), redis: deployment).awaitsReplicas == awaits)
    }

    @Test(arguments: [(1, 1), (24, 24), (72, 24)] as [(Int64, Int64)])
    func rejectedJobsAreKeptForADayAtMost(_ jobHours: Int64, _ hours: Int64) {
        var settings = Configuration()
        settings.retention.jobHours = jobHours
        let configuration = WorkerConfiguration(settings, secrets: Secrets(), redis: .sample)
        #expect(configuration.keepRejectedMs == hours * 3_600_000)
    }
}
