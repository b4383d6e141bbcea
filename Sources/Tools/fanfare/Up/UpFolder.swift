internal import Glibc

/// The state folder of `fanfare up`. One process uses it at a time.
final class UpFolder {
    /// The absolute path.
    let path: String
    private let lock: Int32

    var redis: String { path + "/redis" }
    var socket: String { path + "/redis.sock" }
    var redisURL: String { PrivateRedis.url(socket: socket) }

    /// Makes the folder if it is missing; only this user can enter it.
    init(_ given: String) throws {
        for folder in [given, given + "/redis"] where mkdir(folder, 0o700) != 0 && errno != EEXIST {
            throw Outcome.failed.because("--state: \(folder): \(String(cString: strerror(errno)))")
        }
        guard let real = realpath(given, nil) else {
            throw Outcome.failed.because("--state: \(given): \(String(cString: strerror(errno)))")
        }
        defer { free(real) }
        path = String(cString: real)
        // The limit of a socket's address.
        guard path.utf8.count + "/redis.sock".utf8.count < 108 else {
            throw Outcome.usage.because("--state: the path of the folder is longer than 96 bytes: choose a shorter one")
        }
        lock = open(path + "/lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard lock >= 0, flock(lock, LOCK_EX | LOCK_NB) == 0 else {
            let isTaken = lock >= 0 && errno == EWOULDBLOCK
            let reason = isTaken ? "another `fanfare up` uses it" : String(cString: strerror(errno))
            throw Outcome.unavailable.because("--state: \(path): \(reason)")
        }
    }

    func close() { Glibc.close(lock) }
}
