import Foundation
import RedisTransport
import StreamWire
import TestSupport
import Testing

private let data = #"{"data":{"k":"v"}}"#

/// Operations on topics and groups that their API refuses. Sends use another API and must not wait for them.
@Suite struct OperationRefusalTests {
    private static let group = ["op": "group.get", "group_name": "tom"]
    private static let subscribe = ["op": "subscribe", "topic": "news", "tokens": Rig.tokens(["a", "b"])]

    private func settings(_ rig: Rig, api: String) throws -> String {
        """
        topic_api: \(api)
            sender_id: "\(try rig.senderID)"
            iid_endpoint: https://localhost:\(rig.tlsPort)
        """
    }

    /// Pushes an operation and fifteen sends. Expects the operation to fail and every send to succeed.
    ///
    /// - Returns: the operation's result.
    private func expectSends(_ rig: Rig, beside operation: [String: String]) async throws -> Rig.Recipient {
        try await rig.push(operation.merging(["id": "op"]) { $1 })
        for number in 0..<15 {
            try await rig.push(["id": "send-\(number)", "message": data, "token": "t-\(number)"])
        }
        try await rig.finished("op", seconds: 60)
        for number in 0..<15 {
            let job = try await rig.finished("send-\(number)", seconds: 20)
            #expect(job["sent"] == "1")
        }
        #expect(try await rig.client.send(RedisCommand("HGET", "fanfare:{demo}:ctl", "block")).string == nil)
        let result = try #require(try await rig.results("op").first)
        #expect(result.status == "failed" && result.error == "UNSPECIFIED_ERROR", "\(result)")
        #expect(result.action == "fix_credentials", "\(result)")
        return result
    }

    @Test(arguments: [403, 404], ["iid", "v1", "group"])
    func refusedOperationFailsAndSendsContinue(status: Int, api: String) async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let path = ["iid": "/iid/", "v1": "/v1/projects/demo/registrations/", "group": "/fcm/notification"][api]
            _ = try await rig.addFault(#"{"match":{"path":"\#(path ?? "")"},"action":{"status":\#(status)}}"#)
            let worker = try await rig.startWorker(
                try rig.configuration(project: try settings(rig, api: api == "v1" ? "v1" : "iid"))
            )
            let result = try await expectSends(rig, beside: api == "group" ? Self.group : Self.subscribe)
            let names = ["iid": "Instance ID API", "v1": "v1 topic API", "group": "device group API"]
            #expect(result.raw_error?.hasPrefix(names[api] ?? "?") == true, "\(result)")
            #expect(result.http_status == status && result.attempts == 1)
            try await worker.logged("An API refuses the project's operations, which fail; sends continue.")
        }
    }

    /// The worker renews the token once for the operation; sends continue.
    @Test(arguments: ["iid", "group"]) func refusedTokenIsRenewedOnceAndSendsContinue(api: String) async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let path = api == "iid" ? "/iid/" : "/fcm/notification"
            _ = try await rig.addFault(#"{"match":{"path":"\#(path)"},"action":{"status":401}}"#)
            let tokens = try await rig.addFault(#"{"match":{"path":"/token"},"action":{"delay_ms":1}}"#)
            try await rig.startWorker(try rig.configuration(project: try settings(rig, api: "iid")))
            let result = try await expectSends(rig, beside: api == "iid" ? Self.subscribe : Self.group)
            #expect(result.http_status == 401 && result.attempts == 2, "\(result)")
            for number in 0..<5 {
                let id = try await rig.push(Self.group.merging(["group_name": "g-\(number)"]) { $1 })
                if api == "group" { try await rig.finished(id, seconds: 20) }
            }
            #expect(try await rig.faultHits()[tokens] ?? 0 <= 2, "later operations do not renew the token")
        }
    }

    /// A project whose sends are blocked still runs its operations.
    @Test func operationsContinueWhileSendsAreBlocked() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            _ = try await rig.addFault(#"{"match":{"path":"/v1/projects/demo/messages"},"action":{"status":403}}"#)
            let configuration = try rig.configuration(project: try settings(rig, api: "iid"))
            try await rig.startWorker(configuration)
            try await rig.push(["id": "send", "message": data, "token": "t"])
            try await Wait.until("the job to pause") { try await rig.job("send")["state"] == "paused" }
            try await rig.push(Self.subscribe.merging(["id": "op"]) { $1 })
            let job = try await rig.finished("op", seconds: 20)
            #expect(job["sent"] == "2")
            #expect(
                try await rig.state(configuration).hasPrefix("blocked"),
                "a successful operation does not unblock sends"
            )
            try await rig.fanfare(configuration, ["job", "cancel", "send"])
            try await Wait.until("the end of the block after the cancel") {
                try await rig.client.send(RedisCommand("HGET", "fanfare:{demo}:ctl", "block")).string == nil
            }
        }
    }
}
