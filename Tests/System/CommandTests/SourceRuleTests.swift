import Foundation
import TestSupport
import Testing

@testable import fanfare

/// Patterns that no source file may contain.
@Suite struct SourceRuleTests {
    private static let sources: [(path: String, text: String)] = {
        let root = Repository.root.appendingPathComponent("Sources")
        let files = FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil)
        var sources: [(path: String, text: String)] = []
        while let file = files?.nextObject() as? URL {
            guard ["swift", "c", "h", "lua"].contains(file.pathExtension) else { continue }
            guard let text = try? String(contentsOf: file, encoding: .utf8) else { continue }
            sources.append((file.path, text))
        }
        return sources
    }()

    @Test(arguments: [
        // Certificates are checked, always.
        #"SSL_VERIFYPEER, *0"#, #"SSL_VERIFYHOST, *[01]\b"#, #"SSL_VERIFY_NONE"#, #"CURLOPT_SSL_VERIFYSTATUS, *0"#,
        #"certificateVerification *= *\.none"#,
        // Lua comes from the library that is loaded, never from a string that is built.
        #"RedisCommand\("(EVAL|SCRIPT)"#, #"loadstring"#,
        // libcurl prints headers when asked to talk, follows elsewhere when allowed to, and unpacks bombs.
        #"CURLOPT_VERBOSE"#, #"CURLOPT_DEBUGFUNCTION"#, #"FOLLOWLOCATION, *1"#, #"CURLOPT_ACCEPT_ENCODING"#,
        #"CURLOPT_NETRC"#, #"CURLOPT_UNRESTRICTED_AUTH"#,
    ])
    func patternIsNowhereInTheSources(pattern: String) throws {
        #expect(Self.sources.count > 200)
        let expression = try NSRegularExpression(pattern: pattern)
        for (path, text) in Self.sources {
            let found = expression.firstMatch(in: text, range: NSRange(text.startIndex..., in: text))
            #expect(found == nil, "\(path): \(pattern)")
        }
    }

    @Test(
        arguments: [
            ("redis://u:secret@h:1/0", "secret"), ("--redis=rediss://:pw@h", "pw"), ("unix://u:p@/x?db=1", "p"),
            ("redis://u:a@b@h", "a@b"), ("redis://h:1/0", nil), ("redis://u@h:1", nil), ("u:p@h", nil), ("", nil),
            ("://", nil),
        ] as [(String, String?)]
    )
    func passwordRangeFindsThePasswordOfAURL(argument: String, password: String?) {
        let bytes = Array(argument.utf8)
        let range = ProcessProtection.passwordRange(in: bytes)
        #expect(range.map { String(decoding: bytes[$0], as: UTF8.self) } == password)
    }
}
