internal import FanfareModel

/// Jobs without a message. Their results come like those of sends: `sent` stands for success, one per token of a
/// subscription, one per operation on a group.
extension PushJob {
    /// Subscribes app instances to a topic.
    /// - Parameters:
    ///   - tokens: at least one, as many as one entry can hold.
    ///   - topic: the name, with or without `/topics/`.
    public static func subscribe(_ tokens: [String], to topic: String) -> PushJob {
        PushJob(.subscribe, target: .tokens(tokens), management: Management(topic: topic))
    }

    /// Ends the subscriptions of app instances to a topic.
    public static func unsubscribe(_ tokens: [String], from topic: String) -> PushJob {
        PushJob(.unsubscribe, target: .tokens(tokens), management: Management(topic: topic))
    }

    /// Makes a device group; its key is in ``JobResult/group`` of the one result.
    /// - Parameters:
    ///   - name: unique among the sender's groups.
    ///   - members: 1 to 20 tokens.
    public static func createGroup(_ name: String, members: [String]) -> PushJob {
        PushJob(.groupCreate, target: .group(""), management: Management(groupName: name, members: members))
    }

    /// Adds members to a device group, of which FCM keeps 20 at most.
    public static func add(_ tokens: [String], toGroup name: String, key: String) -> PushJob {
        PushJob(.groupAdd, target: .group(key), management: Management(groupName: name, members: tokens))
    }

    /// Takes members out of a device group; without any, it is gone.
    public static func remove(_ tokens: [String], fromGroup name: String, key: String) -> PushJob {
        PushJob(.groupRemove, target: .group(key), management: Management(groupName: name, members: tokens))
    }

    /// Asks for a device group's key. It may look unlike one that was given earlier, and is as valid.
    public static func getGroup(_ name: String) -> PushJob {
        PushJob(.groupGet, target: .group(""), management: Management(groupName: name))
    }
}
