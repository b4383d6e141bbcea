/// One send to perform, whatever protocol brought it.
struct Send: Equatable, Sendable {
    /// The message id of a trial.
    static let trialID = "fake_message_id"

    var project: SimulatedProject
    var traits: MessageTraits
    var source: Delivery.Source
    /// `validate_only` or `dry_run`: nothing reaches a device.
    var isTrial = false
    /// The sender that the message names: `/topics/x` for a topic's subscriber; nil for the sender id.
    var from: String?
    /// The sender gets a receipt when the device has the message.
    var wantsReceipt = false
}
