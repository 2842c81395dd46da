# rankfall_sentencepiece: the SentencePiece library, without its trainer.
find_path(RANKFALL_SENTENCEPIECE_INCLUDE sentencepiece_processor.h REQUIRED DOC "folder of sentencepiece_processor.h")
find_library(RANKFALL_SENTENCEPIECE sentencepiece REQUIRED DOC "SentencePiece")
add_library(rankfall_sentencepiece INTERFACE)
target_include_directories(rankfall_sentencepiece SYSTEM INTERFACE ${RANKFALL_SENTENCEPIECE_INCLUDE})
target_link_libraries(rankfall_sentencepiece INTERFACE ${RANKFALL_SENTENCEPIECE})
