import EventLoop
import FanfareCore
import FanfareMetrics
import FanfareModel
import StreamWire
import TestSupport
import Testing

@testable import FanfareWorker

@Suite struct ProjectMetersTests {
    private let registry = MetricRegistry()
    private var lines: [Substring] { PrometheusText.render(registry).split(separator: "\n") }

    private func retry(_ scope: Retry.Scope, status: Int = 429, _ cause: Retry.Cause = .answered) -> Verdict {
        .retry(
            Retry(
                failure: Failure(error: .quotaExceeded, action: .none, httpStatus: status),
                cause: cause,
                scope: scope
            )
        )
    }

    @Test func everyVerdictIsCountedUnderItsName() {
        let meters = ProjectMeters(project: "p", transport: .v1, registry: registry)
        let failure = Failure(error: .unregistered, action: .remove, httpStatus: 404)
        let verdicts: [(Verdict, String)] = [
            (.sent(messageID: "m", canonical: nil), "sent"), (.sentPartly(messageID: "m", failedTokens: []), "sent"),
            (.failed(failure), "failed"), (.unknown(failure, retryAfterMs: nil), "unknown"),
            (retry(.recipient), "retry"), (.managed(group: "g"), "managed"),
            (.refreshCredential(failure), "credential_refused"), (.blockProject(failure), "project_blocked"),
        ]
        meters.count(.answered(verdicts.map(\.0), isManagement: false, afterNs: 30_000_000))
        for name in Set(verdicts.map(\.1)) {
            let count = verdicts.filter { $0.1 == name }.count
            #expect(
                lines.contains("fanfare_sends_total{project=\"p\",transport=\"v1\",verdict=\"\(name)\"} \(count)")
            )
        }
        // One request, however many recipients it had.
        #expect(lines.contains("fanfare_send_latency_seconds_count{project=\"p\",transport=\"v1\"} 1"))
        #expect(lines.contains("fanfare_send_latency_seconds_bucket{project=\"p\",transport=\"v1\",le=\"0.05\"} 1"))
        #expect(lines.contains("fanfare_send_latency_seconds_count{project=\"p\",transport=\"management\"} 0"))
    }

    @Test func historyHasTheCountsOfSends() {
        let meters = ProjectMeters(project: "p", transport: .v1, registry: registry)
        #expect(meters.history.isEmpty)
        let sent = Verdict.sent(messageID: "m", canonical: nil)
        for milliseconds: UInt64 in [1, 30, 30, 90_000] {
            meters.count(.answered([sent], isManagement: false, afterNs: milliseconds * 1_000_000))
        }
        meters.count(.answered([.managed(group: "g")], isManagement: true, afterNs: 1_000_000))
        meters.count(.finished(.sent, nil, maybeDup: false))
        for error in [ErrorCode.internalError, .internalError, .transport] {
            meters.count(.finished(.failed, error, maybeDup: false))
        }
        meters.count(.finished(.cancelled, nil, maybeDup: true))
        for cause in [Retry.Cause.unsent, .answered] { meters.count(.retried(cause, delayMs: 1)) }
        let expected: [String: Int64] = [
            "sent": 1, "failed": 3, "retries": 2, "error.INTERNAL": 2, "error.TRANSPORT": 1, "latency.0": 1,
            "latency.3": 2, "latency.12": 1, "maybe_dup": 1,
        ]
        #expect(meters.history.take().counts == expected)
        #expect(meters.history.isEmpty && meters.history.take().isEmpty)
    }

    /// Beyond the maximum number of series, projects share one.
    @Test func historyOfAProjectHasNoCountsOfOthers() {
        let all = (0..<MetricRegistry.maximumSeries).map {
            ProjectMeters(project: "p\($0)", transport: .v1, registry: registry)
        }
        all[all.count - 2].count(.finished(.sent, nil, maybeDup: false))
        #expect(all.last?.history.isEmpty == true)
        #expect(all[all.count - 2].history.take().counts == ["sent": 1])
    }

    /// Redis keeps counts by the number of the bucket, which every version must understand alike.
    @Test func bucketsOfTheHistoryAreThoseOfTheMetric() {
        guard case .histogram(let bounds) = MetricCatalogue.sendLatency.kind else {
            Issue.record("no histogram")
            return
        }
        #expect(HistoryRecord.latencyBoundsMs == bounds.map { ($0 * 1_000).rounded() })
    }

    @Test func refusedRequestIsCountedOnceForAllItsRecipients() {
        let meters = ProjectMeters(project: "p", transport: .legacy, registry: registry)
        let outage = (0..<1_000).map { _ in retry(.recipient, status: 503) }
        meters.count(.answered(outage, isManagement: false, afterNs: 1))
        meters.count(.answered([retry(.project), retry(.project)], isManagement: false, afterNs: 1))
        meters.count(.answered([retry(.device), retry(.topic), retry(.recipient)], isManagement: false, afterNs: 1))
        #expect(lines.contains("fanfare_refusals_total{project=\"p\",kind=\"server\"} 1"))
        #expect(lines.contains("fanfare_refusals_total{project=\"p\",kind=\"project\"} 1"))
        #expect(lines.contains("fanfare_refusals_total{project=\"p\",kind=\"device\"} 2"))
    }

    @Test func resultsRetriesJobsAndBatchesAreCounted() {
        let meters = ProjectMeters(project: "p", transport: .v1, registry: registry)
        for status in ResultStatus.allCases { meters.count(.finished(status, nil, maybeDup: status == .unknown)) }
        for error in ErrorCode.allCases { meters.count(.finished(.failed, error, maybeDup: false)) }
        for cause in [Retry.Cause.unsent, .refused, .answered, .unanswered] {
            meters.count(.retried(cause, delayMs: 45_000))
        }
        for outcome in IntakeOutcome.allCases { meters.count(outcome) }
        for outcome in BatchOutcome.allCases { meters.count(.letGo(outcome, afterNs: 2_000_000_000)) }
        meters.count(.waited(milliseconds: -5, recipients: 7))
        for status in ResultStatus.allCases {
            let count = status == .failed ? 1 + ErrorCode.allCases.count : 1
            #expect(lines.contains("fanfare_results_total{project=\"p\",status=\"\(status.rawValue)\"} \(count)"))
        }
        for error in ErrorCode.allCases {
            #expect(lines.contains("fanfare_failures_total{project=\"p\",error=\"\(error.rawValue)\"} 1"))
        }
        for cause in ["unsent", "refused", "answered", "unanswered"] {
            #expect(lines.contains("fanfare_retries_total{project=\"p\",cause=\"\(cause)\"} 1"))
        }
        #expect(lines.contains("fanfare_retry_delay_seconds_bucket{project=\"p\",le=\"60\"} 4"))
        #expect(lines.contains("fanfare_maybe_duplicates_total{project=\"p\"} 1"))
        #expect(lines.contains("fanfare_batch_seconds_count{project=\"p\"} 1"), "only of batches that were finished")
        #expect(lines.contains("fanfare_queue_wait_seconds_bucket{project=\"p\",le=\"0.01\"} 7"))
    }

    /// Every series of the catalogue exists from the start, so that a dashboard finds it before the first event.
    @Test func everySeriesOfTheCatalogueExistsFromTheStart() {
        _ = ProjectMeters(project: "p", transport: .v1, registry: registry)
        let text = PrometheusText.render(registry)
        for metric in [MetricCatalogue.sends, .results, .failures, .retries, .refusals, .jobs, .batches] {
            for value in metric.labels.last?.values ?? [] {
                #expect(text.contains("=\"\(value)\"} 0\n"), "\(metric.name) \(value)")
            }
        }
    }

    @Test func fleetGaugesAreReadFromOneReply() {
        let gauges = FleetGauges(project: "p", registry: registry)
        func flat(_ fields: [(String, String)]) -> RedisValue {
            .array(fields.flatMap { [RedisValue.bulk(Array($0.utf8)), .bulk(Array($1.utf8))] })
        }
        let isTaken = gauges.update(
            flat([
                ("now_ms", "1"), ("left", "600000"), ("entries", "0"), ("oldest_ms", "90500"), ("hold_ms", "2000"),
                ("quota", "600000"), ("rate", "9850.000000"), ("have", "2462.5"), ("active", "job-1"), ("block", ""),
                ("pressure", "memory"), ("unread", ""), ("workers", "3"), ("dead", "nonsense"), ("paused", "1"),
                ("stopped_by_stop_if", "2"), ("stopped_by_message", "0"),
            ]),
            now: 5_000_000_000
        )
        gauges.updateAge(now: 12_000_000_000)
        #expect(isTaken)
        for (name, value) in [
            ("recipients_waiting", "600000"), ("oldest_wait_seconds", "90.5"), ("cooldown_seconds", "2"),
            ("drain_seconds", "62"), ("permit_rate", "9850"), ("permits", "2462.5"), ("fanout_active", "1"),
            ("project_blocked", "0"), ("project_paused", "1"), ("results_unread", "0"), ("workers_alive", "3"),
            ("dead_jobs", "0"), ("fleet_age_seconds", "7"),
        ] {
            #expect(lines.contains("fanfare_\(name){project=\"p\"} \(value)"), "\(name)")
        }
        #expect(lines.contains("fanfare_pressure{project=\"p\",kind=\"memory\"} 1"))
        #expect(lines.contains("fanfare_pressure{project=\"p\",kind=\"results\"} 0"))
        #expect(lines.contains("fanfare_jobs_stopped{project=\"p\",guard=\"stop_if\"} 2"))
        #expect(lines.contains("fanfare_jobs_stopped{project=\"p\",guard=\"canary\"} 0"))
    }

    @Test(arguments: [
        RedisValue.null, .integer(3), .array([]), .array([.integer(1)]), .array([.bulk([0xFF]), .null]),
        .array([.bulk(Array("left".utf8)), .bulk(Array("5".utf8))]),
    ])
    func unreadableReplyChangesNoGauge(_ reply: RedisValue) {
        let gauges = FleetGauges(project: "p", registry: registry)
        #expect(!gauges.update(reply, now: 1))
        #expect(lines.contains("fanfare_recipients_waiting{project=\"p\"} 0"))
    }

    @Test func processMetersAreAboveZero() {
        ProcessMeters.register(in: registry, version: "1.2.3")
        #expect(lines.contains("fanfare_build_info{version=\"1.2.3\"} 1"))
        #expect(ProcessMeters.residentBytes() > 1_000_000)
        #expect(ProcessMeters.openFiles() >= 3)
        #expect(ProcessMeters.maximumFiles() > Double(ProcessMeters.openFiles()))
        #expect(ProcessMeters.cpuSeconds() > 0)
        let start = ProcessMeters.startSeconds()
        let now = Double(SystemClock.nowMs) / 1_000
        #expect(start > now - 86_400 && start < now + 60)
    }
}

extension Metric {
    fileprivate static let results = MetricCatalogue.results
    fileprivate static let failures = MetricCatalogue.failures
    fileprivate static let retries = MetricCatalogue.retries
    fileprivate static let refusals = MetricCatalogue.refusals
    fileprivate static let jobs = MetricCatalogue.jobs
    fileprivate static let batches = MetricCatalogue.batches
}
