import FCMSimulator
import FanfareJSON
import OpenSSLKit

/// The secrets of one project, which survive restarts.
struct ProjectCredentials: Sendable {
    var project: SimulatedProject
    /// The key of its service account.
    var key: RS256Signer

    /// Reads the secrets in the folder and makes the missing ones. The account's file is always written again, because
    /// its `token_uri` names the port of this start.
    static func prepare(project id: String, tokenURI: String, in directory: StateDirectory) throws -> ProjectCredentials
    {
        let senderID = try directory.text("sender-id-\(id)", fits: isSenderID) {
            String(UInt64.random(in: 100_000_000_000...999_999_999_999))
        }
        let serverKey = try directory.text("server-key-\(id)", fits: { $0.utf8.count >= 20 }) {
            "AAAA" + random(7) + ":APA91b" + random(134)
        }
        let appKey = try directory.text("app-key-\(id)", fits: { $0.utf8.count >= 20 }) { "AIzaSy" + random(33) }
        let name = "service-account-\(id).json"
        let kept = directory.read(name).flatMap(KeptAccount.init)
        let key = try kept?.key ?? RS256Signer.generate()
        let email = "firebase-adminsdk-sandbox@\(id).iam.gserviceaccount.com"
        let account: JSONObject = [
            "type": "service_account", "project_id": .string(id),
            "private_key_id": .string(kept?.keyID ?? String(random(40).lowercased())),
            "private_key": .string(try key.privateKeyPEM()), "client_email": .string(email),
            "client_id": .string(senderID), "auth_uri": "https://accounts.google.com/o/oauth2/auth",
            "token_uri": .string(tokenURI), "universe_domain": "googleapis.com",
        ]
        try directory.write(name, JSONValue.object(account).jsonText + "\n")
        return ProjectCredentials(
            project: SimulatedProject(
                id: id,
                senderID: senderID,
                serverKey: serverKey,
                serviceAccountEmail: email,
                appKeys: [appKey]
            ),
            key: key
        )
    }

    private static func isSenderID(_ text: String) -> Bool {
        text.utf8.count == 12 && text.utf8.allSatisfy { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
    }

    private static func random(_ count: Int) -> String {
        let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
        return String((0..<count).map { _ in letters[Int.random(in: 0..<letters.count)] })
    }
}

/// The key of an account's file; nil for a file that the sandbox did not write.
private struct KeptAccount {
    var key: RS256Signer
    var keyID: String

    init?(_ text: String) {
        guard let object = (try? JSONParser.parse(Array(text.utf8)))?.object,
            let pem = object["private_key"]?.string, let keyID = object["private_key_id"]?.string,
            let key = try? RS256Signer(pem: Array(pem.utf8))
        else { return nil }
        self.key = key
        self.keyID = keyID
    }
}

extension StateDirectory {
    /// Reads one line of text, or makes and writes it.
    fileprivate func text(_ name: String, fits: (String) -> Bool, make: () -> String) throws -> String {
        let words = read(name)?.split(whereSeparator: \.isWhitespace) ?? []
        if words.count == 1, fits(String(words[0])) { return String(words[0]) }
        let made = make()
        try write(name, made + "\n")
        return made
    }
}
