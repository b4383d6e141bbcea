/// At most 1,000 recipients of one job: the unit that is claimed, sent and checkpointed.
public enum Batch {
    /// FCM's limit of `registration_ids` in one legacy request, and ours for every transport.
    public static let maximumSize = 1_000
}
