import Testing

@testable import FCMSimulator

/// The groups alone: keys, members and limits.
@Suite struct GroupsTests {
    private struct Stage {
        var groups = Groups(seed: 1)
        var devices = Devices()
        private var nonce: UInt64 = 0

        mutating func perform(
            _ operation: GroupRequest.Operation,
            _ tokens: [String] = [],
            project: String = "p",
            name: String = "n"
        ) throws(GroupError) -> String {
            nonce += 1
            let request = GroupRequest(operation: operation, name: name, tokens: tokens)
            return try groups.perform(request, project: project, devices: devices, nonce: nonce, nowMs: 0)
        }
    }

    @Test func `every key of a group leads to it, in its project only`() throws {
        var stage = Stage()
        let first = try stage.perform(.create, ["a"])
        let second = try stage.perform(.add(key: first), ["b", "a"])
        let third = try stage.perform(.get)
        #expect(Set([first, second, third]).count == 3)
        for key in [first, second, third] {
            guard case .group(let group) = stage.groups.lookup(key, project: "p") else {
                Issue.record("\(key) is no group")
                return
            }
            #expect(group.members == ["a", "b"])
            #expect(stage.groups.lookup(key, project: "other") == .foreign)
        }
        #expect(stage.groups.lookup("t", project: "p") == .notAGroup)
    }

    @Test func `a group without its last member is gone, and its name is free`() throws {
        var stage = Stage()
        let key = try stage.perform(.create, ["a"])
        _ = try stage.perform(.remove(key: key), ["a", "stranger"])
        #expect(stage.groups.lookup(key, project: "p") == .gone)
        #expect(throws: GroupError.notFound) { try stage.perform(.get) }
        let next = try stage.perform(.create, ["b"])
        #expect(stage.groups.lookup(key, project: "p") == .gone)
        #expect(stage.groups.lookup(next, project: "p") != .gone)
    }

    @Test func `tokens that cannot join are dropped, and without any other the request is refused`() throws {
        var stage = Stage()
        var device = Devices.Device()
        device.state = .unregistered
        #expect(stage.devices.put("gone", device) == true)
        let lost = ["gone", "sbx-invalid-1", "sbx-unregistered-1", "sbx-mismatch-1", "not a token"]
        #expect(throws: GroupError.noValidTokens) { try stage.perform(.create, lost) }
        let key = try stage.perform(.create, lost + ["a", "a"])
        guard case .group(let group) = stage.groups.lookup(key, project: "p") else {
            Issue.record("no group")
            return
        }
        #expect(group.members == ["a"])
        // A member whose registration has ended can be removed.
        #expect(throws: Never.self) { try stage.perform(.remove(key: key), ["gone"]) }
    }

    @Test func `a name that is in use is refused, and so is a key with another name`() throws {
        var stage = Stage()
        let key = try stage.perform(.create, ["a"])
        #expect(throws: GroupError.exists) { try stage.perform(.create, ["b"]) }
        #expect(throws: GroupError.nameMismatch) { try stage.perform(.add(key: key), ["b"], name: "m") }
        #expect(throws: GroupError.notFound) { try stage.perform(.add(key: key), ["b"], project: "other") }
        #expect(throws: Never.self) { try stage.perform(.create, ["b"], project: "other") }
    }

    @Test func `a described group keeps its key and belongs to every project`() {
        var groups = Groups(seed: 1)
        #expect(groups.describe("k", members: ["a"], namesAll: true) == true)
        #expect(groups.lookup("k", project: "any") == .group(Groups.Group(members: ["a"], namesAll: true)))
        groups.removeAll()
        #expect(groups.lookup("k", project: "any") == .notAGroup)
    }
}
