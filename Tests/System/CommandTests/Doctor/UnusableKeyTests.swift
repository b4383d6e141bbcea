import TestSupport
import Testing

@testable import fanfare

/// A valid service account file whose key cannot sign.
@Suite struct UnusableKeyTests {
    private static func account(_ key: String) -> String {
        #"{"type":"service_account","client_email":"a@b","private_key":"\#(key)","token_uri":"https://localhost/t"}"#
    }

    @Test(arguments: ["garbage", "escaped line breaks", "an end that is missing", "no PEM"])
    func unusableKeyIsNamedBeforeAWorkerStarts(_ form: String) async throws {
        let folder = try TemporaryFolder()
        let right = try Certificates.serviceAccount()
        let secret = try #require(right.split(separator: #"\n"#).dropFirst(3).first.map(String.init))
        let wrong =
            switch form {
            case "garbage": Self.account(#"-----BEGIN PRIVATE KEY-----\n\#(secret)\n-----END PRIVATE KEY-----\n"#)
            // As a shell or a template engine leaves them when it escapes once too often.
            case "escaped line breaks": right.replacing(#"\n"#, with: #"\\n"#)
            case "an end that is missing": right.replacing("-----END PRIVATE KEY-----", with: "")
            default: Self.account(secret)
            }
        _ = try folder.write("key.json", wrong)
        let file = try folder.write("fanfare.yaml", "projects: { demo: { credentials: key.json } }\n")
        for command in [["config", "check"], ["worker"]] {
            let run = try await CommandRun(command + ["-c", file])
            #expect(run.status == 78, "\(command): \(run.err)")
            #expect(run.err.contains("projects.demo.credentials (line 1): private_key: "), "\(command): \(run.err)")
            #expect(!(run.out + run.err).contains(secret), "\(command)")
        }
    }
}
