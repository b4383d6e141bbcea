internal import EventLoop
internal import FanfareClient
internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareModel

/// Checks a job as a worker does, before it is pushed.
struct SendCheck {
    let session: ProjectSession
    /// The file of the message; nil for a message from options, and for a job without one.
    var message: InputText?
    /// The file of the variants; nil without it.
    var variants: InputText?

    /// Checks the fields that the push would write.
    /// - Returns: the messages of a personal job; nil for any other job.
    /// - Throws: the exit code, after printing the broken rule and its place.
    @discardableResult
    func check(_ push: PushJob) throws -> PersonalPreview? {
        let check = session.entryCheck
        do throws(EntryFault) {
            let job = try check.check(push.fields).job
            if let window = job.guards.sendWindow { try Self.checkZone(of: window) }
            return try check.preview(of: job)
        } catch {
            Console.error(placed(error)?.text ?? "fanfare: \(error.reason)")
            let unknown =
                session.settings == nil
                ? " (checked for transport v1: the configuration does not have project \(session.project))" : ""
            throw Outcome.usage.because(
                "the job breaks a rule\(unknown), so nothing was pushed; correct it, or push it as it is with --no-check"
            )
        }
    }

    /// Checks that this machine knows the time zone of a window.
    static func checkZone(of window: String) throws(EntryFault) {
        var windows = SendWindows(rules: ZoneFiles.rules)
        do throws(EntryFault) {
            _ = try windows.times(window, at: SystemClock.nowMs)
        } catch {
            throw EntryFault(error.path, "\(error.rule); the machines of the workers need the zone, too")
        }
    }

    /// The place of a fault in the file that holds its field; nil for a field without a file.
    private func placed(_ fault: EntryFault) -> PlacedFault? {
        for (root, file) in [("message", message), ("variants", variants)] {
            guard let file, fault.path == root || fault.path.hasPrefix(root + ".") || fault.path.hasPrefix(root + "[")
            else { continue }
            return file.placed(fault, root: root)
        }
        return nil
    }
}
