import OpenSSLKit
import TestSupport
import Testing

@Suite struct RS256SignerTests {
    private static func key(_ folder: TemporaryFolder, bits: Int = 2048) throws -> String {
        let file = folder.file("key.pem")
        try Certificates.openssl(["genrsa", "-out", file, "\(bits)"])
        return file
    }

    private static func read(_ file: String) throws -> [UInt8] { try runProgram("/bin/cat", [file]) }

    @Test(arguments: ["pkcs8", "pkcs1"]) func opensslVerifiesTheSignature(_ format: String) throws {
        let folder = try TemporaryFolder()
        let key = try Self.key(folder)
        var file = key
        if format == "pkcs1" {
            file = folder.file("pkcs1.pem")
            try Certificates.openssl(["rsa", "-traditional", "-in", key, "-out", file])
        }
        let pem = try Self.read(file)
        let expected = format == "pkcs1" ? "-----BEGIN RSA PRIVATE KEY" : "-----BEGIN PRIVATE KEY"
        #expect(String(decoding: pem, as: UTF8.self).hasPrefix(expected))

        let message = Array("header.payload".utf8)
        let signer = try RS256Signer(pem: pem)
        let signature = try signer.sign(message)
        #expect(signature.count == 256)

        let publicKey = folder.file("public.pem")
        try Certificates.openssl(["rsa", "-in", key, "-pubout", "-out", publicKey])
        let (data, file2) = (try folder.write("message", "header.payload"), folder.file("signature"))
        try runProgram("/usr/bin/tee", [file2], input: signature)
        let verdict = try Certificates.openssl([
            "dgst", "-sha256", "-verify", publicKey, "-signature", file2, data,
        ])
        #expect(String(decoding: verdict, as: UTF8.self).contains("Verified OK"))
        // PKCS #1 v1.5 is deterministic: another implementation's bytes are the same.
        #expect(signature == (try Certificates.openssl(["dgst", "-sha256", "-sign", key, data])))
    }

    @Test func otherKeysAreRefused() throws {
        let folder = try TemporaryFolder()
        let ec = folder.file("ec.pem")
        try Certificates.openssl(["ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", ec])
        #expect(throws: OpenSSLError.self) { _ = try RS256Signer(pem: Self.read(ec)) }
        let short = try Self.key(folder, bits: 1024)
        #expect(throws: OpenSSLError.self) { _ = try RS256Signer(pem: Self.read(short)) }
        let encrypted = folder.file("encrypted.pem")
        try Certificates.openssl(["genrsa", "-aes256", "-passout", "pass:secret", "-out", encrypted, "2048"])
        // Would wait for a passphrase on the terminal if it asked for one.
        #expect(throws: OpenSSLError.self) { _ = try RS256Signer(pem: Self.read(encrypted)) }
        #expect(throws: OpenSSLError.self) { _ = try RS256Signer(pem: []) }
    }

    @Test func errorsHoldNoKeyMaterial() throws {
        let folder = try TemporaryFolder()
        let text = String(decoding: try Self.read(Self.key(folder)), as: UTF8.self)
        let lines = text.split(separator: "\n")
        // Cut in the middle: OpenSSL has read most of the key before it fails.
        let broken = lines.dropLast(4).joined(separator: "\n") + "\n-----END PRIVATE KEY-----\n"
        let error = try #require(throws: OpenSSLError.self) { _ = try RS256Signer(pem: Array(broken.utf8)) }
        for line in lines.dropFirst().dropLast() { #expect(!"\(error)".contains(line)) }
    }

    @Test func opensslSignsAlikeWithAnExportedGeneratedKey() throws {
        let folder = try TemporaryFolder()
        let signer = try RS256Signer.generate()
        #expect(try signer.sign([]).count == 256)
        let pem = try signer.privateKeyPEM()
        #expect(pem.hasPrefix("-----BEGIN PRIVATE KEY-----\n"))
        let key = try folder.write("generated.pem", pem)
        let message = Array("header.payload".utf8)
        #expect(try signer.sign(message) == Certificates.openssl(["dgst", "-sha256", "-sign", key], input: message))
        // Exported and read again, it is the same key.
        #expect(try RS256Signer(pem: Array(pem.utf8)).privateKeyPEM() == pem)
        #expect(try RS256Signer.generate().privateKeyPEM() != pem)
    }

    @Test func onlyTheSignatureOfTheKeyAndTheBytesIsValid() throws {
        let signer = try RS256Signer.generate()
        let message = Array("header.payload".utf8)
        let signature = try signer.sign(message)
        #expect(signer.isValid(signature, of: message))
        #expect(!signer.isValid(signature, of: message + [0]))
        #expect(!signer.isValid(try RS256Signer.generate().sign(message), of: message))
        #expect(!signer.isValid([], of: message))
        #expect(!signer.isValid(signature + [0], of: message))
        #expect(!signer.isValid([UInt8](repeating: 0xFF, count: 256), of: message))
        var changed = signature
        changed[0] ^= 1
        #expect(!signer.isValid(changed, of: message))
        // The failures above left no error that a later call would report.
        #expect(try signer.sign(message) == signature)
    }

    @Test func publicKeyVerifiesWhatItsPrivateKeySigned() throws {
        let folder = try TemporaryFolder()
        let signer = try RS256Signer.generate()
        let pem = try signer.publicKeyPEM()
        #expect(pem.hasPrefix("-----BEGIN PUBLIC KEY-----\n"))
        let key = try folder.write("private.pem", try signer.privateKeyPEM())
        #expect(try Certificates.openssl(["rsa", "-in", key, "-pubout"]) == Array(pem.utf8))
        let verifier = try RS256Verifier(publicKeyPEM: pem)
        let message = Array("header.payload".utf8)
        let signature = try signer.sign(message)
        #expect(verifier.isValid(signature, of: message))
        #expect(!verifier.isValid(signature, of: message + [0]))
        #expect(!verifier.isValid(try RS256Signer.generate().sign(message), of: message))
        for other in [[], [0], signature + [0], [UInt8](repeating: 0xFF, count: 256)] {
            #expect(!verifier.isValid(other, of: message))
        }
    }

    @Test func verifierTakesPublicRSAKeysOf2048BitsOrMore() throws {
        let folder = try TemporaryFolder()
        let ec = folder.file("ec.pem")
        try Certificates.openssl(["ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", ec])
        let texts = [
            "", try RS256Signer.generate().privateKeyPEM(),
            String(decoding: try Certificates.openssl(["ec", "-in", ec, "-pubout"]), as: UTF8.self),
            String(
                decoding: try Certificates.openssl(["rsa", "-in", try Self.key(folder, bits: 1_024), "-pubout"]),
                as: UTF8.self
            ),
        ]
        for text in texts { #expect(throws: OpenSSLError.self) { _ = try RS256Verifier(publicKeyPEM: text) } }
    }

    @Test func signsOnManyThreadsAtOnce() async throws {
        let folder = try TemporaryFolder()
        let signer = try RS256Signer(pem: Self.read(Self.key(folder)))
        let expected = try signer.sign([1, 2, 3])
        await withTaskGroup(of: [UInt8]?.self) { group in
            for _ in 0..<32 { group.addTask { try? signer.sign([1, 2, 3]) } }
            for await signature in group { #expect(signature == expected) }
        }
    }
}
