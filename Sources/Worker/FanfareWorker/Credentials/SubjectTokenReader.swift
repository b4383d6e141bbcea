internal import EventLoop
internal import FCMWire
internal import FanfareConfiguration

/// Reads subject token files on a thread of its own, so that a slow file system stops no send. Loop-confined.
///
/// At most one thread reads. A read that hangs, as on a network file system, cannot be cancelled: it is given up after a
/// timeout, and the next read is refused until its thread ends.
final class SubjectTokenReader {
    enum Answer: Equatable, Sendable {
        case read([UInt8])
        /// Why there are no bytes, such as `No such file or directory`.
        case failed(String)
    }

    private let loop: EventLoop
    private let inbox = Inbox<Answer>()
    private var attachment: AttachmentID?
    private var isThreadBusy = false
    /// The callback of the read that was not given up.
    private var completion: ((Answer) -> Void)?
    private var timeout: TimerID?
    private let readFile: @Sendable (String) -> Answer

    init(loop: EventLoop, readFile: @escaping @Sendable (String) -> Answer = SubjectTokenReader.readFile) {
        (self.loop, self.readFile) = (loop, readFile)
        attachment = loop.attach(inbox) { [weak self] answer in self?.finished(answer) }
    }

    /// Calls `completion` on the loop, in a later turn.
    func read(_ path: String, timeoutMs: Int64, completion: @escaping (Answer) -> Void) {
        guard attachment != nil else { return }
        self.completion = completion
        guard !isThreadBusy else { return giveUp("an earlier read of the file still hangs", afterMs: 0) }
        do throws(SystemError) {
            try BackgroundThread.detach { [inbox, readFile] in inbox.send(readFile(path)) }
            isThreadBusy = true
            giveUp("the file could not be read within \(timeoutMs) ms", afterMs: timeoutMs)
        } catch {
            giveUp("\(error)", afterMs: 0)
        }
    }

    func close() {
        if let attachment { loop.detach(attachment) }
        (attachment, completion) = (nil, nil)
        cancelTimeout()
    }

    private func giveUp(_ fault: String, afterMs delayMs: Int64) {
        cancelTimeout()
        timeout = loop.schedule(afterMilliseconds: delayMs) { [weak self] in self?.answer(.failed(fault)) }
    }

    private func finished(_ answer: Answer) {
        isThreadBusy = false
        self.answer(answer)
    }

    private func answer(_ answer: Answer) {
        cancelTimeout()
        let completion = completion
        self.completion = nil
        completion?(answer)
    }

    private func cancelTimeout() {
        if let timeout { loop.cancel(timeout) }
        timeout = nil
    }

    private static func readFile(_ path: String) -> Answer {
        do throws(FileReader.Failure) {
            return .read(try FileReader.read(path, limit: Credential.maximumBytes).bytes)
        } catch {
            return .failed(error.reason)
        }
    }
}
