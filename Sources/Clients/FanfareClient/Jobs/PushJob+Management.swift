internal import FanfareModel

/// Jobs without a message. They have one result per token of a subscription or per group, in which `sent` means success.
extension PushJob {
    /// Subscribes app instances, as many as one entry can hold, to a topic, named with or without `/topics/`.
    public static func subscribe(_ tokens: [String], to topic: String) -> PushJob {
        PushJob(.subscribe, target: .tokens(tokens), management: Management(topic: topic))
    }

    /// Unsubscribes app instances from a topic.
    public static func unsubscribe(_ tokens: [String], from topic: String) -> PushJob {
        PushJob(.unsubscribe, target: .tokens(tokens), management: Management(topic: topic))
    }

    /// Lists the topics of each token: ``JobResult/topics``. The project's workers need `topic_api: v1`. Set ``results`` to
    /// `.all` for more than 1,000 tokens.
    public static func topics(of tokens: [String]) -> PushJob {
        PushJob(.topicList, target: .tokens(tokens))
    }

    /// Creates a device group of 1 to 20 tokens, with a name that is unique among the sender's groups.
    /// ``JobResult/group`` of the one result is its key.
    public static func createGroup(_ name: String, members: [String]) -> PushJob {
        PushJob(.groupCreate, target: .group(""), management: Management(groupName: name, members: members))
    }

    /// Adds members to a device group, which has at most 20.
    public static func add(_ tokens: [String], toGroup name: String, key: String) -> PushJob {
        PushJob(.groupAdd, target: .group(key), management: Management(groupName: name, members: tokens))
    }

    /// Removes members from a device group. FCM deletes a group without members.
    public static func remove(_ tokens: [String], fromGroup name: String, key: String) -> PushJob {
        PushJob(.groupRemove, target: .group(key), management: Management(groupName: name, members: tokens))
    }

    /// Looks up the key of a device group. It may differ from an earlier key; both are valid.
    public static func getGroup(_ name: String) -> PushJob {
        PushJob(.groupGet, target: .group(""), management: Management(groupName: name))
    }
}
