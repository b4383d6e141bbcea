internal import Glibc
internal import Synchronization

/// Keeps secrets of this process out of other processes and files.
enum ProcessProtection {
    /// Variables that make a library write secrets to a file or trust other authorities. They are removed, also for child
    /// processes.
    static let removed = ["SSLKEYLOGFILE", "SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE"]

    /// The names of variables that were set at the start and that Fanfare ignores.
    static var ignored: [String] { found.withLock { $0 } }
    private static let found = Mutex<[String]>([])

    /// Removes the variables and hides passwords. Must run before any other thread, because it changes the environment.
    static func activate() {
        let proxies = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"]
        let watched = removed + proxies + proxies.map { $0.lowercased() }
        let names = watched.filter { name in getenv(name).map { $0[0] != 0 } ?? false }
        found.withLock { $0 = names }
        for name in removed { unsetenv(name) }
        hidePasswords()
    }

    /// Overwrites the password of every URL in the process's arguments, which all users of the machine can list.
    private static func hidePasswords() {
        for index in 1..<max(1, Int(CommandLine.argc)) {
            guard let argument = CommandLine.unsafeArgv[index] else { continue }
            let text = String(cString: argument)
            guard let range = passwordRange(in: Array(text.utf8)) else { continue }
            for place in range { argument[place] = CChar(UInt8(ascii: "*")) }
        }
    }

    /// The range of the password in `scheme://user:password@host`; nil if there is none.
    static func passwordRange(in text: [UInt8]) -> Range<Int>? {
        let mark = Array("://".utf8)
        guard text.count > 3,
            let start = (0..<text.count - 3).first(where: { Array(text[$0..<$0 + 3]) == mark }),
            let at = text.lastIndex(of: UInt8(ascii: "@")),
            let colon = text[(start + 3)...].firstIndex(of: UInt8(ascii: ":")), colon + 1 < at
        else { return nil }
        return colon + 1..<at
    }
}
