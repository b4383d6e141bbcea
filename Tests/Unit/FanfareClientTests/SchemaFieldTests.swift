import FanfareClient
import FanfareJSON
import FanfareModel
import Foundation
import TestSupport
import Testing

/// The library can write every field of the job schema, and no other.
@Suite struct SchemaFieldTests {
    private static var jobs: [PushJob] {
        var all = PushJob(target: .tokens(["a"]), message: "{}")
        all.format = .legacy
        all.id = "i"
        all.priority = 9
        all.notBefore = 1
        all.expiresAt = 2
        all.validateOnly = true
        all.results = .all
        all.delivery = .replace
        all.audienceSize = 3
        all.traceparent = "p"
        all.tracestate = "s"
        all.audienceFormat = .json
        all.variants = Array("{}".utf8)
        all.guards.ratePerMinute = 1
        (all.guards.canary, all.guards.canaryWaitMs) = ("1%", 1)
        (all.guards.stopIf, all.guards.sendWindow) = ("failed>5%", "09:00-10:00 Etc/UTC")
        let targets: [Target] = [
            .tokens(["a"]), .tokens(["a", "b"]), .fids(["a"]), .fids(["a", "b"]), .topic("t"), .condition("c"),
            .group("g"),
            .audience(key: "k"), .recipients([PersonalRecipient(token: "a")]),
        ]
        return [all] + targets.map { PushJob(target: $0, message: "{}") } + [
            .subscribe(["a"], to: "t"), .unsubscribe(["a"], from: "t"), .topics(of: ["a"]),
            .createGroup("n", members: ["a"]),
            .add(["a"], toGroup: "n", key: "k"), .remove(["a"], fromGroup: "n", key: "k"), .getGroup("n"),
        ]
    }

    @Test func fieldsAreThoseOfTheSchema() throws {
        let root = Repository.root
        let file = root.appendingPathComponent("Sources/Documentation/Fanfare.docc/job.schema.json")
        let schema = try JSONParser.parse(Array(Data(contentsOf: file)), limits: JSONLimits()).object
        let known = try #require(schema?["properties"]?.object).members.map(\.key)
        let said = Set(Self.jobs.flatMap { $0.fields.map(\.name) })
        #expect(said == Set(known))
    }
}
