internal import EventLoop
internal import FoundationEssentials
internal import Glibc

/// The demo's redis-server: in a temporary folder, without persistence. Both are gone when this process ends, even by
/// SIGKILL.
final class DemoRedis: Sendable {
    let folder: String
    private let process: Locked<ChildProcess>

    init() throws {
        guard PrivateRedis.isInstalled else { throw PrivateRedis.missing }
        // A socket's path has at most 107 bytes. mkdtemp makes a folder that only this user can enter.
        let base = ProcessInfo.processInfo.environment["TMPDIR"].flatMap {
            $0.utf8.count < 60 && $0.hasPrefix("/") ? $0 : nil
        }
        var template = Array("\(base ?? "/tmp")/fanfare-demo-XXXXXX".utf8CString)
        let made = template.withUnsafeMutableBufferPointer {
            $0.baseAddress.flatMap { mkdtemp($0) }.map { String(cString: $0) }
        }
        guard let made else {
            throw Outcome.failed.because("cannot make a temporary folder: \(String(cString: strerror(errno)))")
        }
        folder = made
        let words = PrivateRedis.words(folder: made, socket: made + "/redis.sock", port: nil, keepsData: false)
        do {
            process = Locked(try ChildProcess(words, isQuiet: true, removing: made))
        } catch {
            rmdir(made)
            throw error
        }
    }

    var socket: String { folder + "/redis.sock" }
    var url: String { PrivateRedis.url(socket: socket) }

    /// Stops the server and removes the folder.
    func stop() { process.withLock { $0.stop() } }
}
