import FanfareModel
import Testing

@testable import FCMWire

/// Errors of the metadata server, of subject token files and of keys, which answer with no OAuth error.
@Suite struct MetadataRefusalTests {
    typealias Files = CredentialFiles

    @Test(
        arguments: [
            (
                404, "Google", "", TokenError.Kind.worker,
                "the metadata server: HTTP 404; this machine has no service account: attach one, or name a file in credentials"
            ),
            (
                403, "Google", "IAM returned 403 Forbidden", .blocked,
                "the metadata server: HTTP 403; grant the workload roles/iam.workloadIdentityUser on its service account "
                    + "(GKE: IAM for workloads)"
            ),
            (
                400, "Google", "", .worker,
                "the metadata server: HTTP 400; check the service account that is attached to this machine, and "
                    + "GCE_METADATA_HOST"
            ),
            (500, "Google", "", .retry, "the metadata server: HTTP 500"),
            (429, "Google", "", .retry, "the metadata server: HTTP 429"),
            (
                200, "Google", "<html>", .retry,
                "the metadata server: HTTP 200: the answer is not a complete JSON object"
            ),
            (
                200, nil, #"{"access_token":"SECRET","expires_in":10}"#, .worker,
                "the metadata server: HTTP 200: the answer has no header Metadata-Flavor: Google; another server answers in "
                    + "place of Google's: check GCE_METADATA_HOST and the network"
            ),
            (
                404, "Amazon", "", .worker,
                "the metadata server: HTTP 404: the answer has no header Metadata-Flavor: Google; another server answers in "
                    + "place of Google's: check GCE_METADATA_HOST and the network"
            ),
        ] as [(Int, String?, String, TokenError.Kind, String)]
    )
    func metadataServersErrorHasAClassAndARemedy(
        status: Int,
        flavor: String?,
        body: String,
        kind: TokenError.Kind,
        text: String
    ) throws {
        let answer = HTTPAnswer(status: status, body: Array(body.utf8), metadataFlavor: flavor)
        let error = try Files.failure(of: .metadata(MetadataServer()), at: .metadata, answer)
        #expect(error.kind == kind && error.sentence == text)
    }

    @Test func fileThatCannotBeReadNamesItsField() throws {
        var exchange = TokenExchange(try Files.parse(Files.external()), nowSeconds: 0)
        _ = exchange.start()
        guard case .failed(let error) = exchange.fileRead(nil, fault: "No such file or directory") else {
            Issue.record("an exchange without a subject token")
            return
        }
        #expect(error.kind == .worker)
        #expect(
            error.sentence
                == "the subject token: credential_source.file: No such file or directory; mount the token file, or correct "
                + "the path; the worker's user must be able to read it"
        )
        guard case .failed(let binary) = exchange.fileRead([0xFF, 0xFE]) else {
            Issue.record("an exchange of bytes that are no text")
            return
        }
        #expect(binary.sentence.hasSuffix("credential_source.file: not UTF-8; write the token as text"))
    }

    @Test func keyThatCannotSignBlocks() {
        let error = TokenError(signing: "bad decrypt")
        #expect(
            error.kind == .blocked && error.sentence.hasPrefix("the token endpoint: the private key cannot sign: bad")
        )
    }
}
