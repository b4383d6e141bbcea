import FanfareConfiguration
import FanfareModel
import RedisTransport
import Testing

@testable import FanfareWorker

@Suite struct ReloadPlanTests {
    typealias Project = WorkerConfiguration.Project

    private static func project(_ id: String, _ change: (inout Project) -> Void = { _ in }) -> Project {
        var project = Project(settings: .init(id: id), serverKey: "key-1")
        change(&project)
        return project
    }

    @Test func equalStatesNeedNothing() {
        let projects = [Self.project("a"), Self.project("b")]
        #expect(ReloadPlan(running: projects, target: projects).isEmpty)
        #expect(ReloadPlan(running: projects, target: projects.reversed()).isEmpty)
    }

    @Test func projectsAreAddedAndRemovedByTheirIDs() {
        let plan = ReloadPlan(
            running: [Self.project("a"), Self.project("b")],
            target: [Self.project("b"), Self.project("c")]
        )
        #expect(plan.added == [Self.project("c")] && plan.removed == ["a"])
        #expect(plan.reopened.isEmpty && plan.updated.isEmpty && !plan.isEmpty)
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let name: String
        let isReopened: Bool
        let change: @Sendable (inout Project) -> Void

        var testDescription: String { name }
    }

    @Test(arguments: [
        Row(name: "quota_per_minute", isReopened: false) { $0.settings.quotaPerMinute = 7 },
        Row(name: "active_fanouts", isReopened: false) { $0.settings.activeFanouts = 7 },
        Row(name: "fanout_rate", isReopened: false) { $0.settings.fanoutRate = 7 },
        Row(name: "topics", isReopened: false) { $0.settings.topics = ["t": 7] },
        Row(name: "smear", isReopened: false) { $0.settings.smear = true },
        Row(name: "transport", isReopened: true) { $0.settings.transport = .legacy },
        Row(name: "http_engine", isReopened: true) { $0.settings.httpEngine = .nghttp2 },
        Row(name: "topic_api", isReopened: true) { $0.settings.topicAPI = .v1 },
        Row(name: "endpoint", isReopened: true) { $0.settings.endpoint = "https://localhost:1" },
        Row(name: "iid_endpoint", isReopened: true) { $0.settings.iidOrigin = "https://localhost:1" },
        Row(name: "host", isReopened: true) { $0.settings.xmppHost = "localhost" },
        Row(name: "port", isReopened: true) { $0.settings.xmppPort = 1 },
        Row(name: "legacy_body", isReopened: true) { $0.settings.legacyBody = .text },
        Row(name: "sender_id", isReopened: true) { $0.settings.senderID = "7" },
        Row(name: "the server key", isReopened: true) { $0.serverKey = "key-2" },
        Row(name: "a deleted credential", isReopened: true) { $0.lostCredential = "gone" },
        Row(name: "quota and key", isReopened: true) {
            $0.settings.quotaPerMinute = 7
            $0.serverKey = "key-2"
        },
    ])
    func changedProjectIsReopenedUnlessOnlyItsPaceDiffers(row: Row) {
        let changed = Self.project("a", row.change)
        let plan = ReloadPlan(running: [Self.project("a")], target: [changed])
        #expect(plan.reopened == (row.isReopened ? [changed] : []))
        #expect(plan.updated == (row.isReopened ? [] : [changed]))
        #expect(plan.added.isEmpty && plan.removed.isEmpty)
    }

    @Test func changedEngineOfAllProjectsReopensThoseWithoutTheirOwn() throws {
        func projects(_ engine: String) throws -> [Project] {
            let environment = [
                "FANFARE_PROJECTS": "a,b", "FANFARE_PROJECTS_B_HTTP_ENGINE": "curl", "FANFARE_HTTP_ENGINE": engine,
            ]
            return try Configuration.load(file: nil, environment: environment).projects.map { Project(settings: $0) }
        }
        let (running, target) = (try projects("curl"), try projects("nghttp2"))
        #expect(running.map(\.httpEngine) == [.curl, .curl] && target.map(\.httpEngine) == [.nghttp2, .curl])
        #expect(ReloadPlan(running: running, target: target).reopened.map(\.id) == ["a"])
    }

    // MARK: Settings that need a restart

    @Test func restartKeysNameWhatAWorkerReadsAtItsStartOnly() {
        func keys(_ change: (inout Configuration) -> Void) -> [String] {
            var new = Configuration()
            change(&new)
            return WorkerConfiguration.restartKeys(Configuration(), new)
        }
        #expect(keys { _ in } == [])
        #expect(keys { $0.redis.durability = .safe } == ["redis"])
        #expect(keys { $0.prefix = "p" } == ["prefix"])
        #expect(keys { $0.caFile = ConfiguredFile(name: "tls.ca_file", path: "/ca") } == ["tls.ca_file"])
        #expect(keys { $0.proxy = SecretText("http://localhost:1") } == ["proxy"])
        #expect(keys { $0.proxyUser = "u" } == ["proxy_user"])
        #expect(keys { $0.log.level = .debug } == ["log"])
        #expect(keys { $0.admin.listen = ListenAddress("127.0.0.1:0") } == ["admin"])
        #expect(keys { $0.backlogLimit = 7 } == ["backlog_limit"])
        #expect(keys { $0.tokenIndex = false } == ["token_index"])
        #expect(keys { $0.gateway.waitMs = 7 } == [], "no worker reads it")
        #expect(keys { $0.retention.jobHours = 7 } == ["retention"])
        #expect(keys { $0.worker.watermarkStep = 7 } == ["worker"])
        #expect(
            keys {
                $0.worker.watermarkStep = 7; $0.prefix = "p"
            } == ["prefix", "worker"]
        )
    }

    @Test func filesWithAnotherContentAreNamedBesideTheSettings() throws {
        func configuration(_ contents: [String: Int], prefix: String = "p") throws -> WorkerConfiguration {
            var settings = Configuration()
            settings.prefix = prefix
            settings.redis.durability = prefix == "p" ? .fast : .safe
            return WorkerConfiguration(
                settings: settings,
                redis: try RedisDeployment(url: "redis://localhost"),
                projects: [],
                name: "w",
                startContents: contents
            )
        }
        let contents = ["redis.password_file": 1, "admin.token_file": 1, "tls.ca_file": 1]
        let running = try configuration(contents)
        #expect(running.restartKeys(running) == [])
        let rotated = try configuration(contents.merging(["redis.password_file": 2, "tls.ca_file": 2]) { $1 })
        #expect(running.restartKeys(rotated) == ["redis.password_file", "tls.ca_file"])
        let moved = try configuration(["redis.password_file": 2, "admin.token_file": 2], prefix: "q")
        #expect(running.restartKeys(moved) == ["redis", "prefix", "admin.token_file", "tls.ca_file"])
    }

    @Test func settingsThatAReloadTakesUpNeedNoRestart() {
        var new = Configuration()
        new.projects = [.init(id: "a")]
        new.projectsFolder = ConfiguredFile(name: "projects_dir", path: "/d")
        new.allowedHosts = ["example.com"]
        new.httpEngine = .nghttp2
        new.warnings = ["w"]
        new.file = "/f"
        #expect(WorkerConfiguration.restartKeys(Configuration(), new) == [])
    }
}
