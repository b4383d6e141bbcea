import Foundation
import StreamWire
import TestSupport
import Testing

@testable import FCMWire
@testable import FanfareCore

/// The table of conclusions on the page Guarantees says what the rules in the code say.
@Suite struct ConclusionTableTests {
    private static let library = String(decoding: FunctionLibrary.source, as: UTF8.self)

    /// The number of a constant in the library.
    private static func constant(_ name: String) throws -> Int {
        let pattern = try Regex("local \(name) = (\\d+)\n")
        let match = try #require(library.firstMatch(of: pattern), "\(name)")
        return try #require(Int(match.output[1].substring ?? ""))
    }

    struct Row {
        var conclusion: String
        var evidence: String
        /// Names and texts of the code that decides.
        var rules: [String]
    }

    private static func rows() throws -> [Row] { try aboutRefusals() + aboutLoad() + aboutOthers() }

    private static func seconds(_ milliseconds: Int64) -> Int64 { milliseconds / 1_000 }

    private static func aboutRefusals() throws -> [Row] {
        [
            Row(
                conclusion: "the project is blocked",
                evidence: "401, 403 or 404 without FCM's own code for \(RefusalRules.recipientsToBlock) different "
                    + "recipients in a row, or for the first one of a credential that never had an accepted send",
                rules: ["weigh_refusals", "REFUSALS_TO_BLOCK"]
            ),
            Row(
                conclusion: "a refused recipient fails alone",
                evidence: "\(RefusalRules.triesAfterAccepted) more refusals, \(seconds(RefusalRules.intervalMs)) s "
                    + "or more apart, after FCM has accepted another send",
                rules: ["RefusalRules", "func refuse("]
            ),
            Row(
                conclusion: "the credential is refused: the project is blocked",
                evidence: "one answer of the token endpoint, or of FCM's XMPP login: no recipient has a part in it",
                rules: ["func fetchRefused(", "func parkOne("]
            ),
            Row(
                conclusion: "an access token is refused: sends wait for the next one",
                evidence: "401 for two different recipients in a row with a token older than "
                    + "\(seconds(CredentialMachine.freshMs)) s, or for the first one of a new credential; other 401s "
                    + "renew the token while sends continue",
                rules: ["func renewsInBackground(", "func refused(_ refused: Generation)"]
            ),
        ]
    }

    private static func aboutLoad() throws -> [Row] {
        [
            Row(
                conclusion: "the project is held",
                evidence: "one 429 with RATE_LIMIT_EXCEEDED, which names the project; without `Retry-After` for "
                    + "\(seconds(CodeTable.rateFloorMs)) s",
                rules: ["holdProjectMs", "hold_project"]
            ),
            Row(
                conclusion: "the project is held",
                evidence: "5xx with `Retry-After`: at least 5 and a tenth of the last "
                    + "\(try constant("COUNTED_ANSWERS")) answers",
                rules: ["10 * bad >= all and (is_judged or (has_refusals and bad >= 5))", "COUNTED_ANSWERS"]
            ),
            Row(
                conclusion: "a device or a topic is held",
                evidence: "one 429 that names it; no other recipient waits",
                rules: ["hold_recipient", "rateRefusedUntilMs"]
            ),
            Row(
                conclusion: "FCM is overloaded: fewer requests in flight",
                evidence: "more than a tenth of the last answers",
                rules: ["struct ConcurrencyLimit", "struct AdaptiveThrottle"]
            ),
        ]
    }

    private static func aboutOthers() throws -> [Row] {
        [
            Row(
                conclusion: "a service is unreachable",
                evidence: "2 failures over \(Reachability.patienceNs / 1_000_000_000) s or more, and no answer between "
                    + "them; if all are timeouts, no answer for \(Reachability.answeringNs / 1_000_000_000) s",
                rules: ["known.count > 1, now.subtracting(known.firstAt) >= Self.patienceNs"]
            ),
            Row(
                conclusion: "an operation on topics or groups is refused",
                evidence: "one answer to it, after a 401 with a newer token: the operation fails, and sends continue",
                rules: ["struct OperationTokenRule"]
            ),
            Row(
                conclusion: "a multicast is refused",
                evidence: "one answer: it counts as one recipient, however many it names",
                rules: ["position == request.positions[0]"]
            ),
            Row(
                conclusion: "FCM refuses a fan-out's message: the fan-out is paused",
                evidence: "50 of its last 100 first attempts: `INVALID_ARGUMENT`, `fix_message`, in FCM's JSON",
                rules: ["local JUDGED, MOST_REFUSED = 100, 50"]
            ),
            Row(
                conclusion: "a batch is quarantined",
                evidence: "\(try constant("CRASHES_TO_QUARANTINE")) workers in a row died while they held it",
                rules: ["CRASHES_TO_QUARANTINE"]
            ),
        ]
    }

    @Test func tableSaysWhatTheConstantsSay() throws {
        let page = try String(
            contentsOf: Repository.root.appendingPathComponent(
                "Sources/Documentation/Fanfare.docc/Guarantees.md"
            ),
            encoding: .utf8
        )
        let section = try #require(page.split(separator: "\n### What an answer proves\n").last)
        let table = section.split(separator: "\n").drop { !$0.hasPrefix("|") }.prefix { $0.hasPrefix("|") }.dropFirst(2)
        let cells = table.map { $0.split(separator: " | ").map { $0.trimmingCharacters(in: ["|", " "]) } }
        #expect(cells.allSatisfy { $0.count == 4 && $0.allSatisfy { !$0.isEmpty } })
        #expect(cells.map { $0[0] } == (try Self.rows().map(\.conclusion)))
        for (cell, row) in zip(cells, try Self.rows()) { #expect(cell[1] == row.evidence) }
    }

    @Test func rulesOfTheTableStandInTheCode() throws {
        let core = Repository.root.appendingPathComponent("Sources/Core")
        let files = try #require(FileManager.default.enumerator(at: core, includingPropertiesForKeys: nil))
        var texts = [Self.library]
        for case let file as URL in files where file.pathExtension == "swift" {
            texts.append(try String(contentsOf: file, encoding: .utf8))
        }
        for row in try Self.rows() {
            for rule in row.rules { #expect(texts.contains { $0.contains(rule) }, "\(row.conclusion): \(rule)") }
        }
    }

    /// The two languages have the same constants.
    @Test func refusalRulesOfSwiftAndOfTheLibraryAreEqual() throws {
        #expect(try Self.constant("REFUSALS_TO_BLOCK") == RefusalRules.recipientsToBlock)
        #expect(try Self.constant("PROBE_MS") == Int(RefusalRules.probeMs))
    }
}
