import FCMSimulator
import FanfareJSON
import FoundationEssentials

/// Writes credential files without a service account's key, one of each kind, for a project.
enum IdentityFiles {
    /// Reads the secrets of an earlier start and makes the missing ones. The files are always written again, because
    /// their URLs name the port of this start.
    ///
    /// - Parameter origin: the TLS port's, such as `https://localhost:8443`.
    static func prepare(
        _ project: SimulatedProject,
        origin: String,
        in directory: StateDirectory
    ) throws -> SimulatedIdentity {
        let identity = try secrets(of: project, in: directory)
        let id = project.id
        let user: JSONObject = [
            "type": "authorized_user", "client_id": .string(identity.clientID),
            "client_secret": .string(identity.clientSecret), "refresh_token": .string(identity.refreshToken),
            "token_uri": .string(origin + "/token"), "quota_project_id": .string(id),
        ]
        let target: JSONValue = .string(
            "\(origin)/v1/projects/-/serviceAccounts/\(project.serviceAccountEmail):generateAccessToken"
        )
        let impersonated: JSONObject = [
            "type": "impersonated_service_account", "service_account_impersonation_url": target,
            "source_credentials": .object(user), "delegates": .array([]),
        ]
        let path = URL(fileURLWithPath: directory.file(subjectToken(id))).path
        let external: JSONObject = [
            "type": "external_account", "audience": .string(identity.audience),
            "subject_token_type": "urn:ietf:params:oauth:token-type:jwt", "token_url": .string(origin + "/v1/token"),
            "credential_source": .object(["file": .string(path)]), "service_account_impersonation_url": target,
        ]
        try directory.write(userFile(id), JSONValue.object(user).jsonText + "\n")
        try directory.write("impersonated-\(id).json", JSONValue.object(impersonated).jsonText + "\n")
        try directory.write("external-account-\(id).json", JSONValue.object(external).jsonText + "\n")
        return identity
    }

    private static func secrets(of project: SimulatedProject, in directory: StateDirectory) throws -> SimulatedIdentity
    {
        let name = subjectToken(project.id)
        let kept = directory.read(name)?.split(whereSeparator: \.isWhitespace).first.map(String.init) ?? ""
        let token = kept.utf8.count >= 20 ? kept : "sandbox-subject-token-" + random()
        // Without a line feed: Google's libraries send the file as it is.
        if token != kept { try directory.write(name, token) }
        let bytes = directory.read(userFile(project.id)).map { Array($0.utf8) } ?? []
        let user = (try? JSONParser.parse(bytes))?.object
        return SimulatedIdentity(
            audience: "//iam.googleapis.com/projects/\(project.senderID)/locations/global/workloadIdentityPools/sandbox"
                + "/providers/sandbox",
            subjectToken: token,
            clientID: "\(project.senderID)-sandbox.apps.googleusercontent.com",
            clientSecret: user?["client_secret"]?.string ?? "sandbox-client-secret-" + random(),
            refreshToken: user?["refresh_token"]?.string ?? "1//sandbox-" + random()
        )
    }

    private static func subjectToken(_ id: String) -> String { "subject-token-\(id)" }
    private static func userFile(_ id: String) -> String { "authorized-user-\(id).json" }

    private static func random() -> String {
        (0..<3).map { _ in String(UInt64.random(in: 1 << 63 ... .max), radix: 36) }.joined()
    }
}
