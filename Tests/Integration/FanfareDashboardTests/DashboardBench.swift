import FanfareClient
import FanfareDashboard
import FanfareModel
import FanfareRedis
import Logging
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// A running dashboard with a real Redis, and the test as the worker.
struct DashboardBench {
    let server: RedisServer
    let client: RedisClient
    let web: WebClient
    let keys = ProjectKeys(project: "demo")

    var projectOperator: FanfareOperator<RedisClient> { FanfareOperator(redis: client, project: "demo") }

    /// Pushes a job and does its intake, as a worker would.
    func intake(_ id: String, _ target: Target) async throws {
        let entry = try #require(try await client.send(RedisCommand("XADD", keys.jobs, "*", "x", "1")).string)
        let call = IntakeCall(
            job: Job(id: id, hasOwnID: true, entryID: entry, target: target, message: Array("{}".utf8)),
            dedupeMs: 3_600_000,
            keepMs: 3_600_000,
            taker: nil,
            window: 128,
            quotaPerMinute: 600_000,
            fanoutRate: 10_000
        )
        #expect(IntakeReply(try await client.send(call.command(keys))) == .queued)
    }

    func claim() async throws -> [Claim] {
        let call = ClaimCall(
            worker: "w.x.1",
            most: 10,
            wanted: 10_000,
            wantedSingle: 10_000,
            window: 128,
            retries: 1_000,
            quotaPerMinute: 600_000
        )
        guard case .reply(let reply)? = ClaimReply.parse(try await client.send(call.command(keys))) else {
            throw TestFailure("fenced or not parsed")
        }
        return reply.claims
    }

    /// Records results: `failed` for every tenth recipient, `sent` for the others.
    func record(_ claim: Claim, _ positions: Range<Int>, call number: Int) async throws {
        var call = RecordCall(job: claim.job, batch: claim.batch, epoch: claim.epoch)
        for index in positions {
            let isSent = index % 10 != 0
            let status = isSent ? #""status":"sent""# : #""status":"failed","error":"UNREGISTERED","action":"remove""#
            let isFlagged = index % 25 == 1
            let flag = isFlagged ? #","maybe_dup":true"# : ""
            let object = #"{"i":\#(index),"token":"t\#(index)",\#(status),"attempts":1\#(flag)}"#
            call.results.append(
                index: index,
                status: isSent ? .sent : .failed,
                object: .wanted,
                maybeDup: isFlagged
            ) { $0.append(contentsOf: object.utf8) }
        }
        call.number = number
        #expect(RecordReply(try await client.send(call.command(keys, worker: "w.x.1"))) == .ok())
    }

    func reject(_ id: String, reason: String) async throws {
        let entry = try #require(try await client.send(RedisCommand("XADD", keys.jobs, "*", "token", "a b")).string)
        let fields = [(name: "token", value: Array("a b".utf8))]
        let call = FunctionLibrary.reject(
            keys,
            entryID: entry,
            job: id,
            reason: reason,
            keepMs: 3_600_000,
            fields: fields
        )
        #expect(try await client.send(call).string == "rejected")
    }

    func state(_ id: String) async throws -> String? {
        try await FanfareProducer(redis: client, project: "demo").status(of: id)?.state.rawValue
    }
}

/// Runs a test on a dashboard and stops it afterwards.
func withDashboard(
    _ change: (inout DashboardOptions) -> Void = { _ in },
    _ body: (DashboardBench) async throws -> Void
) async throws {
    let server = try RedisServer()
    let client = try await RedisClient.connect(server.endpoint)
    defer {
        client.close()
        server.stop()
    }
    let keys = ProjectKeys(project: "demo")
    _ = try await client.send(FunctionLibrary.load())
    _ = try await client.send(RedisCommand("SADD", ProjectKeys.projects(), "demo"))
    _ = try await client.send(JobStream.createGroup(keys))
    _ = try await client.send(FunctionLibrary.register(keys, worker: "w.x.1"))
    var options = DashboardOptions()
    options.port = 0
    change(&options)
    var logger = Logger(label: "dashboard")
    logger.logLevel = .critical
    let dashboard = Dashboard(
        options: options,
        logger: logger,
        connect: { client },
        explain: { "Redis: \($0)" }
    )
    let (ports, listening) = AsyncStream.makeStream(of: Int.self)
    let running = Task {
        do {
            try await dashboard.run { listening.yield($0) }
        } catch {}
        listening.finish()
    }
    defer { running.cancel() }
    var port: Int?
    for await bound in ports {
        port = bound
        break
    }
    let web = WebClient(port: try #require(port))
    try await body(DashboardBench(server: server, client: client, web: web))
}

func many(_ count: Int) -> Target { .tokens((0..<count).map { "t\($0)" }) }
