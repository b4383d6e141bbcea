public import FanfareCore

extension EntryCheck {
    /// The checks that a worker with these settings makes of a job.
    ///
    /// - Parameters:
    ///   - settings: nil for a project that the configuration does not have: it is checked as a v1 project.
    ///   - prefix: of every Redis key, without the colon.
    public init(_ settings: Configuration.Project?, project: String, prefix: String) {
        self.init(
            settings?.protocols ?? ProtocolSettings(),
            hasSenderID: settings == nil || settings?.senderID != nil,
            project: project,
            prefix: prefix
        )
    }
}
