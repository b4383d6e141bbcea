internal import Glibc

/// A system call that failed, with its `errno`.
public struct SystemError: Error, Equatable, Sendable, CustomStringConvertible {
    public let call: String
    public let code: Int32

    public init(call: String, code: Int32) {
        self.call = call
        self.code = code
    }

    public var description: String {
        let text = "\(call): \(String(cString: strerror(code))) (errno \(code))"
        return code == EMFILE ? "\(text); \(OpenFiles.remedy)" : text
    }
}
